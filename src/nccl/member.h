#pragma once
// One rank of a communicator whose calls may be ours: its end of our collectives, beside NCCL's.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "collective/rank/node_collectives.h"
#include "nccl/call.h"
#include "nccl/choices.h"
#include "nccl/member_messages.h"
#include "nccl/surroundings.h"
#include "nccl/tied_streams.h"

namespace polypath::nccl {

/// Thread-safe.
class Member {
 public:
  /// All ranks make theirs at the same time. `gpu` is this rank's. Waits for all ranks, for
  /// `timeout` at most. Errors: those of Communicator and NodeCollectives, among them that kernels
  /// of these GPUs cannot exchange messages.
  Member(const Surroundings& around, PlaceId gpu, std::unique_ptr<Bootstrap> bootstrap,
         Seconds timeout);
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  /// As leave().
  ~Member();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] PlaceId gpu() const { return gpu_; }
  [[nodiscard]] const Surroundings& around() const { return around_; }
  /// Blobs of all ranks, in order. Waits for them: for when a communicator is made.
  std::vector<Blob> all_gather(const Blob& mine);

  /// From here on calls may wait for other ranks for as long as they like, as NCCL's do, and
  /// nothing is exchanged any more.
  void work_for_ever();

  void choose_by(Choices choices) { choices_ = std::move(choices); }
  [[nodiscard]] const Choices& choices() const { return choices_; }
  /// Whether we have such a call and are faster, which all ranks find alike.
  [[nodiscard]] bool is_ours(const Call& call) const;

  /// Enqueues calls of ours in their streams, as NCCL does those of one group: work already in any
  /// of these streams comes before all of the calls, work put into any of them later comes after
  /// all. Waits for no other rank. Errors: as NodeCollectives::run(); RefusedByAll if they are
  /// NCCL's after all.
  void run(std::span<const Call> calls);
  void run(const Call& call);

  /// Its sends and receives; null if a rank cannot make any, and where GPUs are simulated.
  [[nodiscard]] MemberMessages* messages() { return serves_messages_ ? messages_.get() : nullptr; }

  /// The error that has ended this communicator; none if it goes on.
  [[nodiscard]] std::optional<std::string> problem();
  /// True for the first caller.
  [[nodiscard]] bool is_to_be_told() { return !told_.exchange(true); }
  [[nodiscard]] bool is_idle() { return ranks_->is_done() && (!messages_ || messages_->is_idle()); }
  /// Ends queued work at all ranks, done or not.
  void abort();
  /// Waits for queued work, and ends this rank.
  void leave() noexcept;

 private:
  [[nodiscard]] StreamHandle stream_of(const Call& call) const {
    return around_.handle_of(gpu_, call.stream);
  }
  [[nodiscard]] PersistentCall& repeated(const Call& call);
  void run_in(StreamHandle stream, const Call& call) { ranks_->run(repeated(call), stream); }
  void make_messages();

  Surroundings around_;
  PlaceId gpu_;
  std::mutex mutex_;  ///< guards the members below
  /// Before those whose communicator they use: that is closed first.
  std::unique_ptr<MemberMessages> messages_;
  std::unique_ptr<NodeCollectives> ranks_;
  TiedStreams streams_;
  std::unordered_map<std::string, PersistentCall> repeated_;  ///< by all that a call says
  int rank_, size_;
  Choices choices_;
  std::atomic<bool> told_ = false;
  bool serves_messages_ = false;
};

}  // namespace polypath::nccl
