#include "ways/preload/queued_memory.h"

#include <iterator>
#include <limits>

namespace polypath::preload {
namespace {

// Where the driver does not say how far it goes, it does not say either where it begins.
bool is_known(const MemoryInfo& memory) {
  return memory.size.value != std::numeric_limits<std::uint64_t>::max() - memory.base.value;
}

}  // namespace

void QueuedMemory::note(const MemoryInfo& memory) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t number = notes_.load(std::memory_order_relaxed) + 1;
  notes_.store(number, std::memory_order_release);
  const bool has_room = by_base_.size() < kMost || by_base_.contains(memory.base);
  if (is_known(memory) && has_room) by_base_[memory.base] = {memory.size, number};
  else all_used_ = number;
}

// Nothing is asked of a driver: the memory that contains the address begins there or before.
bool QueuedMemory::may_be_used(Address address) const {
  if (now() == 0) return false;
  const std::scoped_lock lock(mutex_);
  if (all_used_ != 0) return true;
  const auto after = by_base_.upper_bound(address);
  if (after == by_base_.begin()) return false;
  const auto& [base, noted] = *std::prev(after);
  return address.value - base.value < noted.size.value;
}

void QueuedMemory::forget(std::uint64_t until) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(by_base_, [until](const auto& entry) { return entry.second.number <= until; });
  if (all_used_ <= until) all_used_ = 0;
}

}  // namespace polypath::preload
