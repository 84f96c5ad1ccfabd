#pragma once
// Collectives of ranks that are processes, or threads, of their own: each enqueues its part of a
// call in its own stream and does not wait for other ranks.
//
//   run(call, stream): say what is called (communicator) ─▶ the program of such calls, planned by
//   rank 0 when it is called first, divided (projection.h) ─▶ this rank's part (rank_run.h) ─▶
//   watched
//
// The callers' memory need not be within reach of other ranks: bytes arrive through scratch memory
// or mailboxes, which ranks exchange when a program first needs them. Calls of many bytes have a
// second program, for when the memory of all ranks is registered (peer_registration.h): copies then
// go straight to their places. Both give the same bits.

#include <memory>
#include <thread>
#include <vector>

#include "collective/program/call.h"
#include "collective/rank/call_kinds.h"
#include "collective/rank/call_programs.h"
#include "collective/rank/collectives.h"
#include "collective/rank/own_copies.h"
#include "collective/rank/part_runs.h"
#include "collective/rank/peer_registration.h"
#include "collective/rank/rank_run.h"
#include "communicator/communicator.h"

namespace polypath::collective {

/// One rank's end on one node; Collectives documents the rest.
class NodeCollectives final : public Collectives {
 public:
  /// All ranks make theirs at the same time. `gpu` is this rank's; they have different ones of the
  /// same machine. Errors: those of the communicator and the driver; invalid_argument if two ranks
  /// have one GPU, or their machines differ.
  NodeCollectives(Driver& driver, const Machine& machine, const Settings& settings, PlaceId gpu,
                  std::unique_ptr<Communicator> communicator);
  NodeCollectives(const NodeCollectives&) = delete;
  NodeCollectives& operator=(const NodeCollectives&) = delete;
  ~NodeCollectives() override;

  /// Those of the ranks, in order.
  [[nodiscard]] const std::vector<PlaceId>& gpus() const { return ranks_; }
  [[nodiscard]] Communicator& communicator() const override { return *communicator_; }
  void set_timeout(Seconds timeout) override { communicator_->set_timeout(timeout); }
  void choose_from(const CollectiveOptions& options) override;

  /// Makes what the samples need, and from here on waits for no other rank in a call: each rank
  /// plans by itself, from what all have alike. A first call may be captured then, and ranks may
  /// differ in whether they are in place; calls that need other memory are refused, by all ranks.
  /// All call it at the same time with the same. Error (invalid_argument) if their machines differ.
  void plan_alone(const CollectiveOptions& options, const std::vector<CollectiveCall>& samples);

  /// Later calls than the first one wait for no other rank; those that have a second program for
  /// 1 ms at most, and for 0.1 s where they are captured. Into a stream that is being captured a
  /// call goes if it is not the first; all ranks capture it then, and replay it together.
  void run(const CollectiveCall& call, StreamHandle stream) override;
  void run(PersistentCall& call, StreamHandle stream) override;
  void prepare(const CollectiveCall& call) override;
  [[nodiscard]] ChosenWay chosen(const CollectiveCall& call) override;
  /// The draft of a call that is prepared and does not stay at home. For a call in rounds: the
  /// draft of the first round, with the time of all rounds.
  [[nodiscard]] CollectiveDraft draft_of(const CollectiveCall& call) const;
  /// True if such a call is a copy within this rank at most: one rank, no elements, or nothing that
  /// goes to another rank.
  [[nodiscard]] bool stays_at_home(const CollectiveCall& call) const {
    return kinds_.stays_at_home(call);
  }
  /// How many nodes the programs of calls may have that are kept to be called again; the same at
  /// all ranks. Those that were made first are forgotten first, and made anew when they are called.
  void keep_at_most(std::size_t nodes) { programs_->keep_at_most(nodes); }
  /// Of how many kinds of calls there are programs.
  [[nodiscard]] std::size_t kinds() const { return programs_->kinds(); }
  /// How many calls have been made in memory that all ranks have registered.
  [[nodiscard]] std::uint64_t open_calls() const { return parts_.open_calls(); }
  void barrier() override;
  /// May be captured if it is not the first.
  void barrier(StreamHandle stream) override;

  void synchronize() override;
  [[nodiscard]] bool is_done() override { return run_->is_idle(); }
  void close() override;
  void leave() noexcept override;

 private:
  void run_in_rounds(const std::vector<CollectiveCall>& rounds, StreamHandle stream);
  template <class Action>
  void for_all(Action action);
  /// The number of its run.
  std::uint64_t copy_at_home(const CollectiveCall& call, const CollectiveRequest& kind,
                             StreamHandle stream, bool captured);
  void remember(PersistentCall& call);
  template <class Enqueue>
  void enqueue(const CallRecord& record, bool captured, Enqueue enqueue);
  void release_when_aborted();
  [[nodiscard]] bool settle() noexcept;

  Driver& driver_;
  const Machine& machine_;
  std::unique_ptr<Communicator> communicator_;
  std::vector<PlaceId> ranks_;
  std::unique_ptr<RankRun> run_;
  std::unique_ptr<KnownPrograms> programs_;
  std::unique_ptr<PeerRegistration> open_;
  CallKinds kinds_;
  OwnCopies copies_;
  PartRuns parts_;
  std::thread release_;  ///< of what waits on the GPU after an abort
  bool is_closed_ = false;
};

}  // namespace polypath::collective
