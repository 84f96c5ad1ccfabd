#pragma once
// Collectives of ranks that are processes, or threads, of their own: each gives its part of a call,
// in its own stream, and waits for nobody.
//
//   run(call, stream): say what is called (communicator) ─▶ the program of such calls, planned by
//   rank 0 when it is called first, divided (projection.h) ─▶ this rank's part (rank_run.h) ─▶
//   watched
//
// Nobody's own memory has to be within reach of the others: what arrives for it goes through
// scratch memory or mailboxes, which ranks exchange when a program first needs them. Calls of many
// bytes have a second program, for when all ranks have opened theirs to each other (open_memory.h):
// copies then go where they belong. Both give the same bits.

#include <compare>
#include <memory>
#include <string>
#include <thread>

#include "collective/choose/choose.h"
#include "collective/program/call.h"
#include "collective/rank/bounded_map.h"
#include "collective/rank/open_memory.h"
#include "collective/rank/rank_run.h"
#include "communicator/communicator.h"

namespace polypath {

class RepeatedCall;

/// A call that no rank makes, because all of them have found out that it cannot be done.
class RefusedByAll : public Error {
 public:
  using Error::Error;
};

/// One rank's end. Not thread-safe.
class RankCollectives {
 public:
  /// All ranks make theirs at the same time. `gpu` is this rank's; they have different ones of the
  /// same machine. Errors: those of the communicator and the driver; invalid_argument if two ranks
  /// have one GPU, or their machines differ.
  RankCollectives(Driver& driver, const Machine& machine, const Settings& settings, PlaceId gpu,
                  std::unique_ptr<Communicator> communicator);
  RankCollectives(const RankCollectives&) = delete;
  RankCollectives& operator=(const RankCollectives&) = delete;
  /// As close(), without its errors. What cannot be waited for keeps its memory.
  ~RankCollectives();

  /// Ends this rank together with all others, once what is queued is over; it makes no more calls.
  /// Errors: what kept any rank from ending well, at all of them: that of an abort, those of the
  /// driver.
  void close();
  /// Ends it and waits for no rank, but for what is queued: where all have ended together by other
  /// means, or something has failed.
  void leave() noexcept;
  /// Waits for what is queued. Errors: that of an abort, after which outputs are not defined; those
  /// of the driver.
  void synchronize();
  [[nodiscard]] bool is_done() { return run_->is_idle(); }

  [[nodiscard]] int rank() const { return communicator_->rank(); }
  [[nodiscard]] int size() const { return communicator_->size(); }
  [[nodiscard]] Communicator& communicator() { return *communicator_; }

  /// What the following calls are chosen from; the same at all ranks. For measurements.
  void choose_from(CollectiveOptions options);

  /// Makes what the samples need, and from here on waits for no other rank in a call: each rank
  /// plans by itself, from what all have alike. A first call may be captured then, and ranks may
  /// differ in whether they are in place; calls that need other memory are refused, by all ranks.
  /// All call it at the same time with the same. Error (invalid_argument) if their machines differ.
  void plan_alone(CollectiveOptions options, const std::vector<CollectiveCall>& samples);

  /// Enqueues the rank's part on `stream`, one of its GPU, after what is there; what comes next is
  /// after all that touches its memory. The first call of each kind and size waits for all ranks,
  /// later ones for nobody; those that have a second program for 1 ms at most, and for 0.1 s where
  /// they are captured. Into a stream that is being captured it goes if it is not the first; all
  /// ranks capture it then, and replay it together.
  /// Errors: invalid_argument for a call that nobody can do, or if the ranks' calls differ;
  /// communicator after an abort; those of the driver.
  void run(const CollectiveCall& call, StreamHandle stream);
  /// The same, with what the call has found out before.
  void run(RepeatedCall& call, StreamHandle stream);
  /// How many nodes the programs of calls may have that are kept to be called again; the same at
  /// all ranks. Those that were made first are forgotten first, and made anew when they are called.
  void keep_at_most(std::size_t nodes);
  /// Of how many kinds of calls there are programs.
  [[nodiscard]] std::size_t kinds() const { return ready_.count(); }
  /// Makes what such calls need. Waits for all ranks.
  void prepare(const CollectiveCall& call);
  /// True if such a call is a copy within this rank at most: one rank, no elements, or nothing that
  /// goes to another rank.
  [[nodiscard]] bool stays_at_home(const CollectiveCall& call) const;
  /// What was chosen for a call that is prepared and does not stay at home; of one in rounds for
  /// the first one, and the time of all.
  [[nodiscard]] CollectiveDraft chosen(const CollectiveCall& call) const;
  /// How many calls have been made in memory that all ranks have opened to each other.
  [[nodiscard]] std::uint64_t open_calls() const { return open_calls_; }
  /// Of the threads that call it, not of streams.
  void barrier();
  /// What follows on `stream` comes after all that was in the other ranks' streams when they called
  /// it. Waits for nobody, and may be captured if it is not the first. Errors: as run().
  void barrier(StreamHandle stream);

 private:
  friend class RepeatedCall;
  /// What calls of one program have in common.
  struct Kind {
    Collective collective;
    ElementType type;
    ReduceOperator operation;
    int averaged;  ///< of an average, at least the ranks
    int root;
    std::uint64_t elements;
    bool in_place;
    std::vector<std::uint64_t> counts;
    std::uint64_t pitch;
    std::vector<std::uint64_t> sent_at, received_at;
    auto operator<=>(const Kind&) const = default;
  };
  struct Way {
    CollectiveDraft draft;
    std::unique_ptr<RankProgram> program = nullptr;
    std::unique_ptr<RankProgram> for_capture = nullptr;  ///< of the same, as nodes of a graph
    std::size_t nodes = 0;                               ///< of all ranks' parts

    [[nodiscard]] const RankProgram& in(bool captured) const {
      return captured ? *for_capture : *program;
    }
  };
  struct Ready {
    CallRecord record;  ///< of its calls
    Way usual;
    /// In memory that all ranks have opened; without a program if that gains nothing.
    Way open = {};

    [[nodiscard]] std::size_t size() const;
  };

  [[nodiscard]] bool is_in_place(const CollectiveCall& call) const;
  [[nodiscard]] Kind kind_of(const CollectiveCall& call) const;
  [[nodiscard]] CollectiveRequest request_of(const Kind& kind) const;
  [[nodiscard]] CallRecord record_of(const Kind& kind) const;
  [[nodiscard]] CollectiveDraft agreed(const CollectiveRequest& request,
                                       const CollectiveOptions& options);
  [[nodiscard]] Blob proposal(const CollectiveRequest& request, const CollectiveOptions& options);
  [[nodiscard]] std::unique_ptr<RankProgram> part_of(const Program& whole, Executor executor,
                                                     EntryAwaits entries);
  [[nodiscard]] Way make_way(const CollectiveRequest& request, const CollectiveOptions& options);
  [[nodiscard]] bool may_open(const CollectiveRequest& request) const;
  [[nodiscard]] CollectiveOptions open_options(const CollectiveDraft& usual) const;
  [[nodiscard]] std::vector<CollectiveCall> rounds(const CollectiveCall& call,
                                                   const Kind& kind) const;
  void run_in_rounds(const std::vector<CollectiveCall>& rounds, StreamHandle stream);
  const Ready& ready(const Kind& kind);
  [[nodiscard]] Ready make_ready(const Kind& kind);
  [[nodiscard]] CollectiveDraft chosen_alone(const CollectiveRequest& request,
                                             const CollectiveOptions& options);
  [[nodiscard]] bool is_in_place_at_all(const CollectiveCall& call) const;
  const RankProgram& barrier_program();
  void check_agreed(const std::string& structure);
  void check_memory(const CollectiveCall& call, const Kind& kind) const;
  template <class Action>
  void for_all(Action action);
  [[nodiscard]] std::vector<Address> buffers_of(const CollectiveCall& call, const Kind& kind) const;
  void copy_own(const CollectiveCall& call, StreamHandle stream);
  void copy_within(Address from, Address to, Bytes bytes, StreamHandle stream);
  /// The number of its run.
  std::uint64_t copy_at_home(const CollectiveCall& call, const Kind& kind, StreamHandle stream,
                             bool captured);
  void remember(RepeatedCall& call);
  std::uint64_t run_part(const CollectiveCall& call, const Kind& kind, const Ready& made,
                         StreamHandle stream, bool captured);
  /// All ranks' memories, if they are open; those of this rank alone are given.
  [[nodiscard]] std::optional<std::vector<Address>> open_buffers(const Ready& made,
                                                                 std::vector<Address> own,
                                                                 bool captured);
  template <class Enqueue>
  void enqueue(const CallRecord& record, bool captured, Enqueue enqueue);
  void release_when_aborted();
  [[nodiscard]] bool settle() noexcept;

  Driver& driver_;
  const Machine& machine_;
  PlaceId gpu_;
  std::unique_ptr<Communicator> communicator_;
  std::vector<PlaceId> ranks_;
  CollectiveOptions options_;
  CollectivePlanner planner_;
  Routes routes_;
  std::unique_ptr<RankRun> run_;
  std::unique_ptr<OpenMemory> open_;
  std::uint64_t open_calls_ = 0;
  BoundedMap<Kind, Ready> ready_;
  std::uint64_t number_;  ///< of these programs, among those of all objects of the process
  std::unique_ptr<RankProgram> barrier_;
  std::thread release_;  ///< of what waits on the GPU after an abort
  bool is_closed_ = false;
  bool plans_alone_ = false, has_all_memory_ = false;  ///< see plan_alone()
};

/// A call that is made again and again. What the first one has found out stays with it, so that the
/// next ones do not look for it.
class RepeatedCall {
 public:
  explicit RepeatedCall(CollectiveCall call) : call_(std::move(call)) {}
  [[nodiscard]] const CollectiveCall& call() const { return call_; }

 private:
  friend class RankCollectives;

  CollectiveCall call_;
  std::uint64_t found_by_ = 0;  ///< RankCollectives::number_; 0: nothing was found
  const RankCollectives::Ready* ready_ = nullptr;
  BoundPart part_, part_for_capture_;
};

}  // namespace polypath
