#pragma once
// One rank of a communicator whose calls may be ours: its end of our collectives, beside NCCL's.

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "communicator/bootstrap/bootstrap.h"
#include "core/ignore_errors.h"
#include "nccl/call.h"
#include "nccl/choices.h"
#include "nccl/counts.h"
#include "nccl/surroundings.h"

namespace polypath::nccl {

class MemberMessages;

/// Thread-safe. NodeMember is one of ranks of one node, NodesMember of several.
class Member {
 public:
  /// A rank of so many, on a GPU of the surroundings.
  Member(Surroundings around, PlaceId gpu, int rank, int size)
      : around_(std::move(around)), gpu_(gpu), rank_(rank), size_(size) {}
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  virtual ~Member() = default;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] PlaceId gpu() const { return gpu_; }
  [[nodiscard]] const Surroundings& around() const { return around_; }
  /// How the ranks are on nodes, for people and to be told apart: "1 node".
  [[nodiscard]] virtual std::string shape() const = 0;
  /// Blobs of all ranks, in order. Waits for them: for when a communicator is made.
  virtual std::vector<Blob> all_gather(const Blob& mine) = 0;
  /// From here on calls may wait for other ranks for as long as they like, as NCCL's do, and
  /// nothing is exchanged any more.
  virtual void work_for_ever() = 0;

  void choose_by(Choices choices) { choices_ = std::move(choices); }
  [[nodiscard]] const Choices& choices() const { return choices_; }
  /// Operations that it makes.
  [[nodiscard]] virtual bool has(Operation operation) const = 0;
  /// False: calls of a group are NCCL's.
  [[nodiscard]] virtual bool serves_groups() const = 0;
  /// Why a collective is NCCL's, which all ranks find alike; none if it is ours.
  [[nodiscard]] virtual std::optional<Fate> left(const Call& call) const {
    if (!has(call.operation) || !our_form(call, size_)) return Fate::other_kind;
    if (!choices_.is_ours(class_of(call), message_of(call, size_))) return Fate::faster;
    return std::nullopt;
  }

  /// Enqueues calls of ours in their streams, as NCCL does those of one group: work already in any
  /// of these streams comes before all of the calls, work put into any of them later comes after
  /// all. Waits for no other rank. Errors: as NodeCollectives::run(); RefusedByAll if they are
  /// NCCL's after all.
  virtual void run(std::span<const Call> calls) = 0;
  void run(const Call& call) { run(std::span(&call, 1)); }

  /// Its sends and receives; null if a rank cannot make any.
  [[nodiscard]] virtual MemberMessages* messages() { return nullptr; }

  /// The error that has ended this communicator; none if it goes on.
  [[nodiscard]] virtual std::optional<std::string> problem() = 0;
  /// True for the first caller.
  [[nodiscard]] bool is_to_be_told() { return !told_.exchange(true); }
  [[nodiscard]] virtual bool is_idle() = 0;
  /// Ends queued work at all ranks, done or not. `why` is this rank's reason: "its program called
  /// ncclCommAbort".
  virtual void abort(const std::string& why) = 0;
  /// As abort(), unless all is over. Where the driver cannot say so, something may be left.
  void end_at_all_ranks(const std::string& why) noexcept {
    bool is_over = false;
    (void)ignore_errors([&] { is_over = is_idle(); });
    if (!is_over) (void)ignore_errors([&] { abort(why); });
  }
  /// Waits for queued work, and ends this rank.
  virtual void leave() noexcept = 0;

 protected:
  [[nodiscard]] StreamHandle stream_of(const Call& call) const {
    return around_.handle_of(gpu_, call.stream);
  }

 private:
  Surroundings around_;
  PlaceId gpu_;
  int rank_, size_;
  Choices choices_;
  std::atomic<bool> told_ = false;
};

}  // namespace polypath::nccl
