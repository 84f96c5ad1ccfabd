#pragma once
// One rank's end of all messages to and from one other rank.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "collective/rank/message_segment.h"
#include "collective/rank/shared_allocations.h"

namespace polypath::collective {

enum class Direction { sent, received };

/// A message as one end knows it.
struct PairMessage {
  Direction direction = Direction::sent;
  int peer = 0;
  Address memory = {};
  Bytes bytes = {};
};

/// What this end does for a message that is made.
struct MessageTask {
  bool copies = false;                    ///< else the other end does
  Address source = {}, destination = {};  ///< of a copy
  PlaceId source_place = {}, destination_place = {};
  Bytes bytes = {};
  Address signal = {};      ///< at the other rank; 0: there is no other rank
  Address awaited = {};     ///< here
  std::uint32_t value = 0;  ///< of messages that are made the number
  /// For reports.
  Direction direction = Direction::sent;
  int peer = 0;
  std::uint64_t number = 0;
};

/// Where the flags of messages are: a rank has some for each rank and direction.
inline constexpr std::uint64_t kMessageFlags = 64;  ///< of a rank and a direction
Bytes message_flag_offset(int peer, Direction direction, std::uint64_t number);
Bytes message_flag_bytes(int ranks);

/// How many messages of a pair and a direction are under way at most, so that all copies of a rank
/// run at the same time on a GPU with room for so many blocks (0: any number): a copy waits for
/// another rank, whose copies may wait for any of this rank's.
std::uint64_t most_under_way(int ranks, unsigned blocks);

/// Not thread-safe.
class MessagePair {
 public:
  /// The ends of the pair, and their flags as this rank reaches them.
  struct Ends {
    int rank = 0, peer = 0;
    PlaceId gpu = {}, peer_gpu = {};
    Address flags = {}, peer_flags = {};
  };
  /// What is known of this rank's work on its GPU.
  struct Work {
    std::uint64_t most = kMessageFlags;  ///< messages under way
    /// True once the launch of that number is over.
    std::function<bool(std::uint64_t launch)> is_over;
    /// True while nothing of the communicator is queued: memory of other ranks may be closed, for
    /// which the driver may wait for all that is queued.
    std::function<bool()> is_idle;
  };

  MessagePair(Driver& driver, const MessageSegment& segment, const Ends& ends, Work work);

  /// The next message. None if both ends leave it. Error (invalid_argument) if the other end has
  /// another size.
  std::optional<MessageTask> decide(const PairMessage& message);
  /// A message of this direction is part of a graph, here at least. It cannot be told whether the
  /// other end counts it, so later ones that no end has come to are left.
  void note_captured(Direction direction) { lane(direction).ring.close(); }
  /// It has been enqueued.
  void note_launched(const MessageTask& task, std::uint64_t launch);
  [[nodiscard]] bool has_other_come(const MessageTask& task) const;
  /// False while as many messages of this direction are under way as may be.
  [[nodiscard]] bool has_room(Direction direction) const;

  /// Memory that the other rank is to know now, and none any more: each in steps between which all
  /// ranks wait for each other.
  void publish(Address address);
  void take_in() { allocations_.take_in(false); }
  void take_back() { allocations_.close(); }
  /// As SharedAllocations::abandon().
  void abandon() { allocations_.abandon(); }

 private:
  struct Lane {
    MessageRing ring;
    /// At both ends the same. They give the flags, whose values differ by 64 from use to use.
    std::uint64_t made = 0;
    std::array<std::uint64_t, kMessageFlags> launches = {};  ///< the last ones that used a flag
  };

  [[nodiscard]] Lane& lane(Direction direction) {
    return direction == Direction::sent ? sent_ : received_;
  }
  [[nodiscard]] const Lane& lane(Direction direction) const {
    return direction == Direction::sent ? sent_ : received_;
  }
  void note_use();
  [[nodiscard]] MessageTask task_of(const PairMessage& message,
                                    const MessageRing::Decision& decision, std::uint64_t made);
  void copy_by_this_end(MessageTask& task, const PairMessage& message, std::uint64_t word);

  Ends ends_;
  Work work_;
  SharedAllocations allocations_;
  Lane sent_, received_;
  std::atomic<int> not_launched_ = 0;  ///< decided messages that are not enqueued yet
};

}  // namespace polypath::collective
