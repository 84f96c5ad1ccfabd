// Allocation, and what CUDA knows of an address.

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <limits>

#include "core/error.h"
#include "core/ignore_errors.h"
#include "core/text.h"
#include "driver/cuda/cuda_driver.h"
#include "driver/cuda/handles.h"

namespace polypath::cuda {

Address CudaDriver::allocate(PlaceId place, Bytes bytes) {
  const bool device = is_gpu(place);
  const Current current(device ? contexts_.ours(ordinal(place)) : contexts_.retained());
  const RelaxedCapture relaxed;
  Address address;
  if (device) {
    DevicePointer memory = 0;
    check(cuda_.allocate(&memory, bytes.value), "cuMemAlloc");
    address = {static_cast<std::uintptr_t>(memory)};
  } else {
    address = allocate_pinned(bytes);
  }
  return keep(address, bytes, place);
}

// In an otherwise empty stream, so that this waits for no other work.
Address CudaDriver::allocate_zeros(PlaceId place, Bytes bytes) {
  const Address address = allocate_shareable(place, bytes);
  if (!is_gpu(place)) {
    std::memset(reinterpret_cast<void*>(address.value), 0, bytes.value);
    return address;
  }
  const StreamHandle stream = create_stream(place);
  const RelaxedCapture relaxed;
  const Current current(contexts_.ours(ordinal(place)));
  const StreamPointer pointer = pointer_of(stream);
  Result result = cuda_.set_bytes(address.value, 0, bytes.value, pointer);
  if (result == kSuccess) result = cuda_.stream_synchronize(pointer);
  ignore_errors([&] { destroy_stream(stream); });
  if (result != kSuccess) ignore_errors([&] { free(address); });
  check(result, "cuMemsetD8Async");
  return address;
}

// The address may be one at which a mapping of other memory ended without a word.
Address CudaDriver::keep(Address address, Bytes bytes, PlaceId place) {
  imports_.forget_ended(address, bytes);
  const std::scoped_lock lock(mutex_);
  allocations_[address] = place;
  return address;
}

// Memory that is not mapped is used again instead of freed: freeing it would wait for the program.
Address CudaDriver::allocate_staging(PlaceId place, PlaceId writer, Bytes bytes) {
  if (const auto spare = spare_staging(place, bytes)) return *spare;
  auto memory = map_staging(place, writer, bytes);
  if (!memory) {
    const Address address = allocate(place, bytes);
    const std::scoped_lock lock(mutex_);
    staging_[address] = bytes;
    return address;
  }
  const Address address{static_cast<std::uintptr_t>(memory->base())};
  {
    const std::scoped_lock lock(mutex_);
    mapped_[address] = std::move(memory);
  }
  return keep(address, bytes, place);
}

std::optional<Address> CudaDriver::spare_staging(PlaceId place, Bytes bytes) {
  const std::scoped_lock lock(mutex_);
  const auto found = spare_staging_.find({place, bytes});
  if (found == spare_staging_.end()) return std::nullopt;
  const Address address = found->second;
  spare_staging_.erase(found);
  allocations_[address] = place;
  return address;
}

// True if nothing is left to free.
bool CudaDriver::gave_back_staging(Address address, PlaceId place) {
  const std::scoped_lock lock(mutex_);
  if (mapped_.erase(address) > 0) return true;
  const auto kept = staging_.find(address);
  if (kept == staging_.end()) return false;
  spare_staging_.emplace(std::pair{place, kept->second}, address);
  return true;
}

// Null where the source's GPU would not reach it: the driver then stages copies in its own way,
// which mapped memory is not open to.
std::unique_ptr<MappedMemory> CudaDriver::map_staging(PlaceId place, PlaceId writer, Bytes bytes) {
  if (!is_gpu(place)) return nullptr;
  const RelaxedCapture relaxed;
  std::vector<Device> users;
  if (is_gpu(writer) && writer != place) {
    if (!contexts_.reaches(ordinal(writer), ordinal(place))) return nullptr;
    users.push_back(ordinal(writer));
  }
  return MappedMemory::make(bytes, ordinal(place), users);
}

// cuMemHostAlloc holds up the other calls of its context until all pages are there: 13 ms for
// 32 MiB; registering pages that are there already takes a tenth of that (H200, driver 580,
// results/h200x2/driver_behaviour.json).
Address CudaDriver::allocate_pinned(Bytes bytes) {
  auto pages = std::make_unique<HostPages>(bytes);
  if (pages->begin() != nullptr &&
      cuda_.host_register(pages->begin(), bytes.value, kHostRegisterPortable) == kSuccess) {
    const Address address{reinterpret_cast<std::uintptr_t>(pages->begin())};
    const std::scoped_lock lock(mutex_);
    host_pages_[address] = std::move(pages);
    return address;
  }
  void* memory = nullptr;
  check(cuda_.host_allocate(&memory, bytes.value, kHostAllocPortable), "cuMemHostAlloc");
  return {reinterpret_cast<std::uintptr_t>(memory)};
}

void CudaDriver::free_pinned(Address address) {
  auto* const memory = reinterpret_cast<void*>(address.value);
  std::unique_lock lock(mutex_);
  auto pages = host_pages_.extract(address);
  auto shared = shared_pages_.extract(address);
  lock.unlock();
  if (!shared.empty()) return release_pages(std::move(shared.mapped()));
  if (pages.empty()) return check(cuda_.host_free(memory), "cuMemFreeHost");
  const Result result = cuda_.host_unregister(memory);
  if (result != kSuccess) (void)pages.mapped().release();  // a GPU may still use it
  check(result, "cuMemHostUnregister");
}

bool CudaDriver::forget(Address address, PlaceId& place) {
  const std::scoped_lock lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return false;
  place = found->second;
  allocations_.erase(found);
  return true;
}

void CudaDriver::free(Address address) {
  PlaceId place;
  if (!forget(address, place))
    fail(ErrorCode::invalid_argument, fmt::format("address 0x{:x} cannot be freed", address.value),
         "allocate did not return it, or it has been freed", "Free each allocation once.");
  const RelaxedCapture relaxed;
  if (gave_back_staging(address, place)) return;
  if (!is_gpu(place)) return free_pinned(address);
  const Current current(contexts_.ours(ordinal(place)));
  check(cuda_.free(address.value), "cuMemFree");
}

// One call for all attributes, after what CUDA cannot know of; an address that CUDA does not know
// gives zeros.
std::optional<MemoryInfo> CudaDriver::find_memory(Address address) {
  return find_memory(address, nullptr);
}

std::optional<MemoryInfo> CudaDriver::find_memory(Address address, MemoryAccess* access) {
  if (address.value == 0) return std::nullopt;
  if (const auto imported = imports_.find(address)) {
    const PlaceId owner = imported->owner < 0 ? PlaceId{} : place_of_gpu(imported->owner);
    if (!owner.valid()) return std::nullopt;
    return MemoryInfo{owner, imported->base, imported->size, MemoryKind::device};
  }
  unsigned type = 0, managed = 0;
  int gpu = -1;
  DevicePointer begin = 0;
  std::size_t size = 0;
  std::uint64_t shareable = 0;
  std::array<int, 7> which = {kPointerMemoryType, kPointerIsManaged, kPointerDeviceOrdinal,
                              kPointerRangeStart, kPointerRangeSize, kPointerIsIpcCapable,
                              kPointerContext};
  std::array<void*, 7> data = {&type, &managed, &gpu, &begin, &size, &shareable, nullptr};
  if (access != nullptr) data[6] = static_cast<void*>(&access->context);
  const Current current(contexts_.any());
  check(
      cuda_.pointer_attributes(access != nullptr ? 7 : 5, which.data(), data.data(), address.value),
      "cuPointerGetAttributes");
  if (access != nullptr) access->shareable = shareable != 0;
  if (begin == 0 || size == 0) {
    begin = address.value;
    size = std::numeric_limits<std::uint64_t>::max() - address.value;
  }
  const Address base{static_cast<std::uintptr_t>(begin)};
  if (managed != 0)
    return MemoryInfo{gpu >= 0 ? place_of_gpu(gpu) : host_, base, {size}, MemoryKind::managed};
  if (type == kMemoryDevice) {
    const PlaceId place = place_of_gpu(gpu);
    if (!place.valid()) return std::nullopt;  // a GPU that the machine leaves out
    return MemoryInfo{place, base, {size}, MemoryKind::device};
  }
  if (type == kMemoryHost) return MemoryInfo{host_, base, {size}, MemoryKind::pinned};
  return MemoryInfo{host_, base, {size}, MemoryKind::pageable};
}

}  // namespace polypath::cuda
