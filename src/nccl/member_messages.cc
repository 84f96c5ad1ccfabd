#include "nccl/member_messages.h"

#include <algorithm>

namespace polypath::nccl {
namespace {

Direction direction_of(const Call& call) {
  return call.operation == Operation::send ? Direction::sent : Direction::received;
}

Address memory_at(const void* pointer) { return {reinterpret_cast<std::uintptr_t>(pointer)}; }

}  // namespace

MemberMessages::MemberMessages(const Surroundings& around, NodeCollectives& ranks,
                               unsigned multiprocessors)
    : around_(around),
      rank_(ranks.rank()),
      size_(ranks.size()),
      gpu_(ranks.gpus()[static_cast<std::size_t>(rank_)]),
      messages_(around.driver, ranks.gpus(), ranks.communicator(),
                {.multiprocessors = multiprocessors,
                 .blocks = around.multiprocessors,
                 .is_idle_beside = [&ranks] { return ranks.is_done(); }}),
      streams_(around.driver, gpu_) {}

std::optional<Fate> MemberMessages::left(const Call& call, const Choices& choices) const {
  const Bytes bytes = message_of(call, size_);
  const bool is_other = call.other >= 0 && call.other < size_ && call.other != rank_;
  if (!is_other || bytes.value == 0) return Fate::other_kind;
  if (bytes < Choices::kLeastMessage || !choices.is_ours(class_of(call), bytes))
    return Fate::faster;
  return std::nullopt;
}

// Whether a message is counted follows from what both ends know.
Fate MemberMessages::decide(const Call& call, const Choices& choices, Tasks& tasks) {
  if (const auto fate = left(call, choices)) return *fate;
  if (around_.driver.is_capturing(stream_of(call))) {
    const std::scoped_lock lock(mutex_);
    messages_.note_captured(call.other, direction_of(call));
    return Fate::captured;
  }
  if (begin(call, tasks)) return Fate::ours;
  const std::scoped_lock lock(mutex_);
  return messages_.has_room(call.other, direction_of(call)) ? Fate::not_open : Fate::too_many;
}

bool MemberMessages::begin(const Call& call, Tasks& tasks) {
  const bool sends = call.operation == Operation::send;
  const std::scoped_lock lock(mutex_);
  const auto task = messages_.decide({.direction = direction_of(call),
                                      .peer = call.other,
                                      .memory = memory_at(sends ? call.send : call.receive),
                                      .bytes = message_of(call, size_)});
  if (task) tasks.push_back(*task);
  return task.has_value();
}

bool MemberMessages::begin_copies(std::span<const Call> sends, std::span<const Call> receives,
                                  Tasks& tasks) {
  const auto fit = [&](const Call& send, const Call& receive) {
    return message_of(send, size_) == message_of(receive, size_) && send.send != receive.receive;
  };
  if (!std::ranges::equal(sends, receives, fit)) return false;
  for (std::size_t i = 0; i < sends.size(); ++i)
    tasks.push_back(messages_.copy_within(memory_at(sends[i].send), memory_at(receives[i].receive),
                                          message_of(sends[i], size_)));
  return true;
}

StreamHandle MemberMessages::tie(std::span<const Call> calls) {
  std::vector<StreamHandle> streams;
  for (const Call& call : calls) streams.push_back(stream_of(call));
  return streams_.tie(streams);
}

void MemberMessages::run(const Tasks& tasks, std::span<const Call> of, bool apart) {
  const std::scoped_lock lock(mutex_);
  messages_.run(tasks, tie(of), apart);
  if (!apart) (void)tie(of);
}

void MemberMessages::join(std::span<const Call> of) {
  const std::scoped_lock lock(mutex_);
  messages_.join(stream_of(of.front()));
  (void)tie(of);
}

void MemberMessages::open(std::span<const Address> memory) {
  const std::scoped_lock lock(mutex_);
  messages_.open(memory);
}

void MemberMessages::close() {
  const std::scoped_lock lock(mutex_);
  messages_.close();
}

bool MemberMessages::is_idle() { return messages_.is_idle(); }

void MemberMessages::leave() noexcept {
  const std::scoped_lock lock(mutex_);
  messages_.leave();
}

}  // namespace polypath::nccl
