// Pinned memory of the host that processes share: pages that each of them maps and registers with
// CUDA, where their GPUs then find it.

#include <cstring>

#include "core/error.h"
#include "core/ignore_errors.h"
#include "driver/cuda/cuda_driver.h"
#include "driver/cuda/exported.h"

namespace polypath::cuda {

// A caller that fails to register them gives them back.
void CudaDriver::check_registered(const SharedPages& pages) {
  const Current current(contexts_.retained());
  const RelaxedCapture relaxed;
  check(cuda_.host_register(pages.begin(), pages.name().bytes, kHostRegisterPortable),
        "cuMemHostRegister");
}

// A GPU may still use what CUDA does not let go of.
void CudaDriver::release_pages(std::unique_ptr<SharedPages> pages) {
  const Current current(contexts_.retained());
  const RelaxedCapture relaxed;
  const Result result = cuda_.host_unregister(pages->begin());
  if (result != kSuccess) (void)pages.release();
  check(result, "cuMemHostUnregister");
}

Address CudaDriver::allocate_shareable(PlaceId place, Bytes bytes) {
  if (is_gpu(place)) return allocate(place, bytes);
  auto pages = SharedPages::make(bytes);
  check_registered(*pages);
  const Address address{reinterpret_cast<std::uintptr_t>(pages->begin())};
  {
    const std::scoped_lock lock(mutex_);
    shared_pages_[address] = std::move(pages);
  }
  return keep(address, bytes, place);
}

std::optional<ExportedMemory> CudaDriver::export_pages(Address address) {
  const std::scoped_lock lock(mutex_);
  auto found = shared_pages_.upper_bound(address);
  if (found == shared_pages_.begin()) return std::nullopt;
  const auto& [base, pages] = *--found;
  const std::uint64_t offset = address.value - base.value;
  if (offset >= pages->name().bytes) return std::nullopt;
  return bytes_of(SharedHostMemory{.pages = pages->name(), .base = base.value, .offset = offset});
}

// Memory of this very process is registered already.
Address CudaDriver::import_pages(const ExportedMemory& memory) {
  SharedHostMemory shared;
  std::memcpy(&shared, memory.data(), sizeof shared);
  const auto self = this_process();
  Address base{static_cast<std::uintptr_t>(shared.base)};
  std::unique_ptr<SharedPages> pages;
  if (!self || *self != shared.pages.owner) {
    pages = SharedPages::open(shared.pages);
    check_registered(*pages);
    base = {reinterpret_cast<std::uintptr_t>(pages->begin())};
  }
  const Address address = base + Bytes{shared.offset};
  const std::scoped_lock lock(mutex_);
  opened_.emplace(address, pages ? base : Address{});
  if (pages) opened_pages_[base] = std::move(pages);
  return address;
}

}  // namespace polypath::cuda
