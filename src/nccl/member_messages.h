#pragma once
// The sends and receives of one rank of a communicator: its end of those of ours.

#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "collective/rank/node_collectives.h"
#include "collective/rank/rank_messages.h"
#include "nccl/call.h"
#include "nccl/choices.h"
#include "nccl/counts.h"
#include "nccl/surroundings.h"
#include "nccl/tied_streams.h"

namespace polypath::nccl {

[[nodiscard]] inline bool is_message(const Call& call) {
  return call.operation == Operation::send || call.operation == Operation::receive;
}

/// Thread-safe.
class MemberMessages {
 public:
  using Tasks = std::vector<MessageTask>;

  /// All ranks make theirs at the same time. Errors: those of RankMessages.
  MemberMessages(const Surroundings& around, NodeCollectives& ranks, unsigned multiprocessors);

  [[nodiscard]] int rank() const { return rank_; }
  /// Why a message is NCCL's by what both ends know of it, among other ranks; none if it may be
  /// ours. It takes no time.
  [[nodiscard]] std::optional<Fate> left(const Call& call, const Choices& choices) const;
  /// Whose a send to or a receive of another rank is, which both ends find alike. Ours becomes a
  /// task, and is to be run. Errors: as RankMessages::decide().
  [[nodiscard]] Fate decide(const Call& call, const Choices& choices, Tasks& tasks);
  /// The same, and what was measured does not count. False if both ends leave it.
  [[nodiscard]] bool begin(const Call& call, Tasks& tasks);
  /// Sends of this rank to itself and what receives them, in order. False if they do not fit.
  [[nodiscard]] bool begin_copies(std::span<const Call> sends, std::span<const Call> receives,
                                  Tasks& tasks);
  /// Enqueues tasks that all run at the same time, of calls with these streams. `apart`: other work
  /// that is put into these streams before join() may run at the same time, too.
  void run(const Tasks& tasks, std::span<const Call> of, bool apart);
  void join(std::span<const Call> of);

  /// As RankMessages::open() and close().
  void open(std::span<const Address> memory);
  void close();
  [[nodiscard]] bool is_idle();
  /// Waits for queued work. Messages are made no more.
  void leave() noexcept;

 private:
  [[nodiscard]] StreamHandle stream_of(const Call& call) const {
    return around_.handle_of(gpu_, call.stream);
  }
  StreamHandle tie(std::span<const Call> calls);

  Surroundings around_;
  int rank_, size_;
  PlaceId gpu_;
  std::mutex mutex_;  ///< guards the members below
  RankMessages messages_;
  TiedStreams streams_;
};

}  // namespace polypath::nccl
