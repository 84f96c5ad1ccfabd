#include "driver/cuda/pinned_memory.h"

#include <mutex>
#include <utility>

namespace polypath::cuda {

// cuMemHostAlloc holds up the other calls of its context until all pages are there: 13 ms for
// 32 MiB; registering pages that are there already takes a tenth of that (H200, driver 580,
// results/h200x2/driver_behaviour.json).
Address PinnedMemory::allocate(Bytes bytes) {
  auto pages = std::make_unique<HostPages>(bytes);
  if (pages->begin() != nullptr &&
      cuda_.host_register(pages->begin(), bytes.value, kHostRegisterPortable) == kSuccess) {
    const Address address{reinterpret_cast<std::uintptr_t>(pages->begin())};
    const std::scoped_lock lock(mutex_);
    own_[address] = std::move(pages);
    return address;
  }
  void* memory = nullptr;
  check(cuda_.host_allocate(&memory, bytes.value, kHostAllocPortable), "cuMemHostAlloc");
  return {reinterpret_cast<std::uintptr_t>(memory)};
}

Address PinnedMemory::allocate_shared(Bytes bytes) {
  auto pages = SharedPages::make(bytes);
  register_pages(*pages);
  const Address address{reinterpret_cast<std::uintptr_t>(pages->begin())};
  const std::scoped_lock lock(mutex_);
  shared_[address] = std::move(pages);
  return address;
}

void PinnedMemory::free(Address address) {
  auto* const memory = reinterpret_cast<void*>(address.value);
  std::unique_lock lock(mutex_);
  auto pages = own_.extract(address);
  auto shared = shared_.extract(address);
  lock.unlock();
  if (!shared.empty()) return release(std::move(shared.mapped()));
  if (pages.empty()) return check(cuda_.host_free(memory), "cuMemFreeHost");
  const Result result = cuda_.host_unregister(memory);
  if (result != kSuccess) (void)pages.mapped().release();  // a GPU may still use it
  check(result, "cuMemHostUnregister");
}

std::optional<ExportedPages> PinnedMemory::find_shared(Address address) {
  const std::scoped_lock lock(mutex_);
  auto found = shared_.upper_bound(address);
  if (found == shared_.begin()) return std::nullopt;
  const auto& [base, pages] = *--found;
  const std::uint64_t offset = address.value - base.value;
  if (offset >= pages->name().bytes) return std::nullopt;
  return ExportedPages{.pages = pages->name(), .base = base.value, .offset = offset};
}

std::unique_ptr<SharedPages> PinnedMemory::open(const SharedPages::Name& name) {
  auto pages = SharedPages::open(name);
  register_pages(*pages);
  return pages;
}

// A caller that fails to register them gives them back.
void PinnedMemory::register_pages(const SharedPages& pages) {
  const Current current(contexts_.retained());
  const RelaxedCapture relaxed;
  check(cuda_.host_register(pages.begin(), pages.name().bytes, kHostRegisterPortable),
        "cuMemHostRegister");
}

void PinnedMemory::release(std::unique_ptr<SharedPages> pages) {
  const Current current(contexts_.retained());
  const RelaxedCapture relaxed;
  const Result result = cuda_.host_unregister(pages->begin());
  if (result != kSuccess) (void)pages.release();
  check(result, "cuMemHostUnregister");
}

}  // namespace polypath::cuda
