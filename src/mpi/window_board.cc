#include "mpi/window_board.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace polypath::mpi {
namespace {

// A part that changes meanwhile is none that the program may use yet.
std::optional<WindowPart> part_in(const Versioned<WindowPart>& slot) {
  const auto found = slot.read();
  return found && found->edition != 0 ? found : std::nullopt;
}

}  // namespace

// Pages of zeros are a board without parts and locks.
WindowBoard::WindowBoard(std::unique_ptr<SharedPages> pages, int rank)
    : pages_(std::move(pages)), rank_(rank) {
  of(rank_).process = this_process().value_or(ProcessIdentity{});
}

Bytes WindowBoard::bytes() { return Bytes{sizeof(Layout)}; }

void WindowBoard::publish(WindowPart part, const ExportedMemory& exported) {
  auto& slots = of(rank_).slots;
  const auto found = std::ranges::find_if(slots, [](const Slot& each) { return !part_in(each); });
  if (found == slots.end() || exported.size() > WindowPart::kMostBytes)
    fail(ErrorCode::out_of_memory, "memory of a GPU cannot be put into a window",
         fmt::format("a window has room for {} pieces of each rank", kMostParts),
         "Attach fewer, larger pieces.");
  part.edition = ++editions_;
  part.exported_bytes = exported.size();
  std::ranges::copy(exported, part.exported.begin());
  found->write(part);
}

bool WindowBoard::withdraw(Address begin) {
  for (Slot& slot : of(rank_).slots)
    if (const auto part = part_in(slot); part && part->begin == begin.value) {
      slot.write({});
      return true;
    }
  return false;
}

std::optional<WindowPart> WindowBoard::part(int rank, Address address, std::uint64_t size) const {
  for (const Slot& slot : of(rank).slots)
    if (const auto found = part_in(slot); found && found->has(address, size)) return found;
  return std::nullopt;
}

void WindowBoard::require_alive(std::uint32_t holders) const {
  for (int rank = 0; rank < kMostRanks; ++rank)
    if ((holders >> rank & 1U) != 0 && !is_alive(of(rank).process))
      fail(ErrorCode::communicator, fmt::format("rank {} of the window has ended", rank),
           "it has a lock of the window that this rank waits for", "Look at why it ended.");
}

void WindowBoard::lock(RankLock& lock, RankLock::Mode mode,
                       const std::function<void()>& wait) const {
  constexpr std::uint64_t kSpins = 4096;
  for (std::uint64_t waits = 1; !lock.try_lock(rank_, mode); ++waits) {
    wait();
    if (waits % kSpins == 0) require_alive(lock.holders());
  }
}

}  // namespace polypath::mpi
