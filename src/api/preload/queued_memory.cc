#include "api/preload/queued_memory.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "core/ignore_errors.h"

namespace polypath::preload {
namespace {

// Where the driver does not say how far it goes, it does not say either where it begins.
bool is_known(const MemoryInfo& memory) {
  return memory.size.value != std::numeric_limits<std::uint64_t>::max() - memory.base.value;
}

}  // namespace

void QueuedMemory::note(const std::vector<MemoryInfo>& memories, StreamHandle stream, PlaceId gpu) {
  auto copy = std::make_shared<Copy>(spare_);
  copy->end = copy->events.on(gpu);
  copy->stream = stream;
  driver_.record(copy->end, stream);
  const std::scoped_lock lock(mutex_);
  for (const MemoryInfo& memory : memories) add(memory, copy);
  any_.store(true, std::memory_order_release);
}

void QueuedMemory::add(const MemoryInfo& memory, const CopyPointer& copy) {
  if (by_base_.size() >= kMost) forget_finished();
  const bool fits = by_base_.size() < kMost || by_base_.contains(memory.base);
  if (!is_known(memory) || !fits) return put(of_all_, copy);
  Used& used = by_base_[memory.base];
  used.size = memory.size;
  put(used.copies, copy);
}

// Later work in a stream ends later.
void QueuedMemory::put(std::vector<CopyPointer>& copies, const CopyPointer& copy) {
  std::erase_if(copies, [&](const CopyPointer& other) { return other->stream == copy->stream; });
  copies.push_back(copy);
}

// Nothing is asked of a driver: the memory that contains the address begins there or before.
std::vector<QueuedMemory::CopyPointer> QueuedMemory::copies_of(Address address) const {
  const std::scoped_lock lock(mutex_);
  std::vector<CopyPointer> copies = of_all_;
  const auto after = by_base_.upper_bound(address);
  if (after == by_base_.begin()) return copies;
  const auto& [base, used] = *std::prev(after);
  if (address.value - base.value < used.size.value)
    copies.insert(copies.end(), used.copies.begin(), used.copies.end());
  return copies;
}

bool QueuedMemory::may_be_used(Address address) const {
  return any_.load(std::memory_order_acquire) && !copies_of(address).empty();
}

// Work that cannot be waited for has ended with its context.
void QueuedMemory::wait_for(Address address) noexcept {
  ignore_errors([&] {
    const std::vector<CopyPointer> copies = copies_of(address);
    for (const CopyPointer& copy : copies) ignore_errors([&] { driver_.synchronize(copy->end); });
    forget(copies);
  });
}

bool QueuedMemory::is_over(const CopyPointer& copy) const noexcept {
  bool over = true;
  return !ignore_errors([&] { over = driver_.is_done(copy->end); }) || over;
}

void QueuedMemory::forget_finished() {
  for (auto& [base, used] : by_base_)
    std::erase_if(used.copies, [this](const CopyPointer& copy) { return is_over(copy); });
  std::erase_if(by_base_, [](const auto& entry) { return entry.second.copies.empty(); });
  std::erase_if(of_all_, [this](const CopyPointer& copy) { return is_over(copy); });
}

void QueuedMemory::forget(const std::vector<CopyPointer>& over) {
  const std::scoped_lock lock(mutex_);
  const auto is_gone = [&](const CopyPointer& copy) {
    return std::find(over.begin(), over.end(), copy) != over.end();
  };
  for (auto& [base, used] : by_base_) std::erase_if(used.copies, is_gone);
  std::erase_if(by_base_, [](const auto& entry) { return entry.second.copies.empty(); });
  std::erase_if(of_all_, is_gone);
}

}  // namespace polypath::preload
