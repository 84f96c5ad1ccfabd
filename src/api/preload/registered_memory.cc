#include "api/preload/registered_memory.h"

#include <iterator>

#include "core/ignore_errors.h"

namespace polypath::preload {
namespace {

// CU_MEMHOSTREGISTER: memory of another device that is mapped into the process; memory that GPUs
// only read.
constexpr unsigned kOfDevice = 4, kReadOnly = 8;

}  // namespace

RegisteredMemory& RegisteredMemory::of_process() {
  static auto& memory = *new RegisteredMemory;
  return memory;
}

void RegisteredMemory::registered(Address begin, Bytes bytes, unsigned flags) noexcept {
  if ((flags & (kOfDevice | kReadOnly)) == 0) return;
  ignore_errors([&] {
    const std::scoped_lock lock(mutex_);
    by_begin_[begin] = {.size = bytes, .readable = (flags & kOfDevice) == 0};
    ranges_.store(by_begin_.size(), std::memory_order_release);
  });
}

void RegisteredMemory::unregistered(Address begin) noexcept {
  if (ranges_.load(std::memory_order_acquire) == 0) return;
  ignore_errors([&] {
    const std::scoped_lock lock(mutex_);
    by_begin_.erase(begin);
    ranges_.store(by_begin_.size(), std::memory_order_release);
  });
}

bool RegisteredMemory::may_be_used(Address address, bool written) {
  if (ranges_.load(std::memory_order_acquire) == 0) return true;
  const std::scoped_lock lock(mutex_);
  const auto after = by_begin_.upper_bound(address);
  if (after == by_begin_.begin()) return true;
  const auto& [begin, range] = *std::prev(after);
  return address.value - begin.value >= range.size.value || (range.readable && !written);
}

}  // namespace polypath::preload
