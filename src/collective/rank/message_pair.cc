#include "collective/rank/message_pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "kernels/messages_layout.h"

namespace polypath::collective {
namespace {

constexpr Bytes kFlag{sizeof(std::uint32_t)};
constexpr std::uint64_t kNotLaunched = ~std::uint64_t{0};

Direction opposite(Direction direction) {
  return direction == Direction::sent ? Direction::received : Direction::sent;
}

}  // namespace

Bytes message_flag_offset(int peer, Direction direction, std::uint64_t number) {
  const auto lane = 2 * static_cast<std::uint64_t>(peer) + (direction == Direction::sent ? 0 : 1);
  return kFlag * (lane * kMessageFlags + number % kMessageFlags);
}

Bytes message_flag_bytes(int ranks) { return message_flag_offset(ranks, Direction::sent, 0); }

// A launch has a block for its waits besides those of its copies.
std::uint64_t most_under_way(int ranks, unsigned blocks) {
  if (blocks == 0 || ranks < 2) return kMessageFlags;
  const std::uint64_t copies = std::uint64_t{blocks} * kMostMessages / (kMostMessages + 1);
  const auto lanes = 2 * (static_cast<std::uint64_t>(ranks) - 1);
  return std::clamp<std::uint64_t>(copies / lanes, 1, kMessageFlags);
}

MessagePair::MessagePair(Driver& driver, const MessageSegment& segment, const Ends& ends, Work work)
    : ends_(ends),
      work_(std::move(work)),
      allocations_(driver, ends.gpu, segment.handles(ends.peer)),
      sent_{segment.sent_to(ends.peer)},
      received_{segment.received_from(ends.peer)} {
  note_use();
}

// A message that is decided and not enqueued yet is work as well.
void MessagePair::note_use() {
  allocations_.note_use([this] { return not_launched_ == 0 && work_.is_idle(); });
}

// A flag is signalled for one message after the other. Those of one group run at the same time. The
// messages before the one that is looked at were over when those behind it were decided.
bool MessagePair::has_room(Direction direction) const {
  const Lane& own = lane(direction);
  if (own.made < work_.most) return true;
  const std::uint64_t last = own.launches[(own.made + 1 - work_.most) % kMessageFlags];
  return last != kNotLaunched && work_.is_over(last);
}

std::optional<MessageTask> MessagePair::decide(const PairMessage& message) {
  allocations_.take_in(false);
  allocations_.look_at_one();
  Lane& own = lane(message.direction);
  bool waits = false;
  const auto word = allocations_.encode(message.memory, message.bytes, false, waits);
  const MessageRing::Decision decision =
      own.ring.decide({.memory = word.value_or(0), .bytes = message.bytes.value},
                      !word || own.ring.is_closed() || !has_room(message.direction));
  if (!decision.is_made) return std::nullopt;
  if (!decision.is_first && decision.other.bytes != message.bytes.value)
    fail(ErrorCode::invalid_argument,
         fmt::format("rank {} cannot {} rank {}", ends_.rank,
                     message.direction == Direction::sent ? "send to" : "receive from", ends_.peer),
         fmt::format("it has {} bytes where the other one has {}", message.bytes.value,
                     decision.other.bytes),
         "Give the same count and type at both ranks.");
  own.launches[++own.made % kMessageFlags] = kNotLaunched;
  ++not_launched_;
  return task_of(message, decision, own.made);
}

MessageTask MessagePair::task_of(const PairMessage& message, const MessageRing::Decision& decision,
                                 std::uint64_t made) {
  MessageTask task{
      .bytes = message.bytes,
      .signal =
          ends_.peer_flags + message_flag_offset(ends_.rank, opposite(message.direction), made),
      .awaited = ends_.flags + message_flag_offset(ends_.peer, message.direction, made),
      .value = static_cast<std::uint32_t>(made),
      .direction = message.direction,
      .peer = ends_.peer,
      .number = decision.number};
  if (!decision.is_first) copy_by_this_end(task, message, decision.other.memory);
  return task;
}

void MessagePair::copy_by_this_end(MessageTask& task, const PairMessage& message,
                                   std::uint64_t word) {
  const auto theirs = allocations_.find(ends_.rank < ends_.peer ? 1 : 0, word);
  if (!theirs)
    fail(ErrorCode::internal, "memory of another rank is not open", "it was offered as that");
  task.copies = true;
  task.source = message.memory, task.source_place = ends_.gpu;
  task.destination = *theirs, task.destination_place = ends_.peer_gpu;
  if (message.direction == Direction::sent) return;
  std::swap(task.source, task.destination);
  std::swap(task.source_place, task.destination_place);
}

void MessagePair::note_launched(const MessageTask& task, std::uint64_t launch) {
  --not_launched_;
  if (task.copies) note_use();
  lane(task.direction).launches[task.value % kMessageFlags] = launch;
}

bool MessagePair::has_other_come(const MessageTask& task) const {
  return lane(task.direction).ring.has_other_come(task.number);
}

void MessagePair::publish(Address address) {
  bool waits = false;
  (void)allocations_.encode(address, Bytes{1}, true, waits);
}

}  // namespace polypath::collective
