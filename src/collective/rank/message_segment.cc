#include "collective/rank/message_segment.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/note_problem.h"

namespace polypath::collective {
namespace {

constexpr std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

constexpr std::size_t kRingBytes = rounded(MessageRing::bytes());

std::size_t pair_bytes() { return rounded(HandleBoard::bytes_for(2)) + 2 * kRingBytes; }

std::size_t bytes_for(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  return n * 64 + n * (n - 1) / 2 * pair_bytes();
}

NamedMemory share(Communicator& communicator) {
  const std::size_t bytes = bytes_for(communicator.size());
  const int rank = communicator.rank();
  std::optional<NamedMemory> memory;
  std::string problem;
  if (rank == 0) note_problem(problem, [&] { memory.emplace(NamedMemory::create(bytes)); });
  const std::string name = communicator.all_gather(memory ? memory->name() : "").front();
  const auto byte = static_cast<std::size_t>(rank);
  if (rank > 0 && !name.empty())
    note_problem(problem, [&] { memory.emplace(NamedMemory::open(name, bytes, byte)); });
  check_at_all_ranks(communicator, problem);
  NamedMemory::remove_name(name);
  return std::move(memory).value();
}

}  // namespace

struct alignas(64) MessageSegment::Seat {
  std::atomic<std::uint32_t> has_left;
};

MessageSegment::MessageSegment(Communicator& communicator)
    : rank_(communicator.rank()), size_(communicator.size()), memory_(share(communicator)) {}

MessageSegment::Seat& MessageSegment::seat(int rank) const {
  return static_cast<Seat*>(memory_.data())[rank];
}

// Pairs lie in the order of their higher rank, then of their lower one.
std::byte* MessageSegment::pair_with(int peer) const {
  const auto low = static_cast<std::size_t>(std::min(rank_, peer));
  const auto high = static_cast<std::size_t>(std::max(rank_, peer));
  auto* const first = reinterpret_cast<std::byte*>(&seat(size_));
  return first + (high * (high - 1) / 2 + low) * pair_bytes();
}

std::byte* MessageSegment::ring(int from, int to) const {
  std::byte* const first =
      pair_with(from == rank_ ? to : from) + rounded(HandleBoard::bytes_for(2));
  return from < to ? first : first + kRingBytes;
}

HandleBoard MessageSegment::handles(int peer) const {
  return {pair_with(peer), 2, rank_ < peer ? 0 : 1};
}
MessageRing MessageSegment::sent_to(int peer) const {
  return {ring(rank_, peer), MessageRing::End::sender};
}
MessageRing MessageSegment::received_from(int peer) const {
  return {ring(peer, rank_), MessageRing::End::receiver};
}

void MessageSegment::leave() { seat(rank_).has_left.store(1, std::memory_order_release); }
bool MessageSegment::has_left(int rank) const {
  return seat(rank).has_left.load(std::memory_order_acquire) != 0;
}
bool MessageSegment::lives(int rank) const {
  return memory_.is_held(static_cast<std::size_t>(rank));
}

}  // namespace polypath::collective
