#include "nccl/counts.h"

#include <algorithm>
#include <bit>

namespace polypath::nccl {

const char* text_of(Fate fate) {
  switch (fate) {
    case Fate::ours: return "Polypath";
    case Fate::faster: return "NCCL, which is as fast or faster";
    case Fate::other_kind: return "NCCL: no such operation, type or reduction here";
    case Fate::in_group: return "NCCL: several calls of one group";
    case Fate::elsewhere: return "NCCL: ranks on other computers, or without Polypath";
    case Fate::communicator: return "NCCL: a communicator that is not served";
    case Fate::not_open: return "NCCL: memory that the other rank does not know yet";
    case Fate::too_many: return "NCCL: too many messages between two ranks at a time";
    case Fate::captured: return "NCCL: a call that is captured";
    case Fate::failed: return "NCCL: it could not be made here";
  }
  return "";
}

std::size_t Counts::index_of(Operation operation, Bytes message, Fate fate) {
  const int size = message.value == 0 ? 0 : static_cast<int>(std::bit_width(message.value) - 1) / 2;
  const auto row = static_cast<std::size_t>(operation) * kSizes +
                   static_cast<std::size_t>(std::min(size, kSizes - 1));
  return row * kFates + static_cast<std::size_t>(fate);
}

std::size_t Counts::part_of_thread() {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t part = threads++ % kParts;
  return part;
}

std::vector<CountedCalls> Counts::all() const {
  std::vector<CountedCalls> found;
  for (std::size_t i = 0; i < kCells; ++i) {
    std::uint64_t calls = 0, bytes = 0;
    for (const auto& part : cells_) calls += part[i].calls, bytes += part[i].bytes;
    if (calls == 0) continue;
    const std::size_t row = i / kFates;
    found.push_back({.operation = static_cast<Operation>(row / kSizes),
                     .least = Bytes{std::uint64_t{1} << (2 * (row % kSizes))},
                     .fate = static_cast<Fate>(i % kFates),
                     .calls = calls,
                     .bytes = Bytes{bytes}});
  }
  return found;
}

}  // namespace polypath::nccl
