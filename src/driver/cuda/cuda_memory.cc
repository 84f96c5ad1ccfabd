#include "driver/cuda/cuda_memory.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <limits>
#include <mutex>

#include "core/error.h"
#include "core/ignore_errors.h"
#include "driver/cuda/handles.h"

namespace polypath::cuda {

CudaMemory::CudaMemory(const CudaGpus& gpus, Contexts& contexts, const PeerLinks& peers,
                       CudaStreams& streams)
    : cuda_(functions()),
      gpus_(gpus),
      contexts_(contexts),
      streams_(streams),
      pinned_(contexts),
      staging_(gpus, peers) {}

CudaMemory::~CudaMemory() {
  if (!contexts_.usable()) return;
  for (const auto& [address, place] : staging_.release_spare()) allocations_[address] = place;
  while (!allocations_.empty()) {
    const Address left = allocations_.begin()->first;
    try {
      free(left);
    } catch (const Error&) {
      allocations_.erase(left);  // CUDA has shut down, and taken it along
    }
  }
}

Address CudaMemory::allocate(PlaceId place, Bytes bytes) {
  const bool device = gpus_.is_gpu(place);
  const Current current(device ? contexts_.ours(gpus_.ordinal(place)) : contexts_.retained());
  const RelaxedCapture relaxed;
  if (!device) return keep(pinned_.allocate(bytes), bytes, place);
  DevicePointer memory = 0;
  check(cuda_.allocate(&memory, bytes.value), "cuMemAlloc");
  return keep({static_cast<std::uintptr_t>(memory)}, bytes, place);
}

Address CudaMemory::allocate_zeros(PlaceId place, Bytes bytes) {
  const Address address = allocate_shareable(place, bytes);
  if (gpus_.is_gpu(place)) set_to_zeros(address, bytes, place);
  else std::memset(reinterpret_cast<void*>(address.value), 0, bytes.value);
  return address;
}

// In an otherwise empty stream, so that this waits for no other work.
void CudaMemory::set_to_zeros(Address address, Bytes bytes, PlaceId gpu) {
  const StreamHandle stream = streams_.create(gpu);
  const RelaxedCapture relaxed;
  const Current current(contexts_.ours(gpus_.ordinal(gpu)));
  const StreamPointer pointer = pointer_of(stream);
  Result result = cuda_.set_bytes(address.value, 0, bytes.value, pointer);
  if (result == kSuccess) result = cuda_.stream_synchronize(pointer);
  ignore_errors([&] { streams_.destroy(stream); });
  if (result != kSuccess) ignore_errors([&] { free(address); });
  check(result, "cuMemsetD8Async");
}

Address CudaMemory::allocate_shareable(PlaceId place, Bytes bytes) {
  if (gpus_.is_gpu(place)) return allocate(place, bytes);
  return keep(pinned_.allocate_shared(bytes), bytes, place);
}

Address CudaMemory::allocate_staging(PlaceId place, const StagingUsers& users, Bytes bytes) {
  if (const auto spare = staging_.take_spare(place, bytes)) {
    note(*spare, place);
    return *spare;
  }
  if (const auto mapped = staging_.map(place, users, bytes)) return keep(*mapped, bytes, place);
  const Address address = allocate(place, bytes);
  staging_.add(address, bytes);
  return address;
}

// The address may be one at which a mapping of other memory ended without a word.
Address CudaMemory::keep(Address address, Bytes bytes, PlaceId place) {
  imports_.forget_ended(address, bytes);
  note(address, place);
  return address;
}

void CudaMemory::note(Address address, PlaceId place) {
  const std::scoped_lock lock(mutex_);
  allocations_[address] = place;
}

std::optional<PlaceId> CudaMemory::forget(Address address) {
  const std::scoped_lock lock(mutex_);
  const auto found = allocations_.extract(address);
  return found.empty() ? std::nullopt : std::optional(found.mapped());
}

void CudaMemory::free(Address address) {
  const auto place = forget(address);
  if (!place)
    fail(ErrorCode::invalid_argument, fmt::format("address 0x{:x} cannot be freed", address.value),
         "allocate did not return it, or it has been freed", "Free each allocation once.");
  const RelaxedCapture relaxed;
  if (staging_.give_back(address, *place)) return;
  if (!gpus_.is_gpu(*place)) return pinned_.free(address);
  const Current current(contexts_.ours(gpus_.ordinal(*place)));
  check(cuda_.free(address.value), "cuMemFree");
}

std::optional<OpenedMemory> CudaMemory::find_opened(Address begin, Bytes bytes) {
  const Current current(contexts_.any());
  return OpenedMemory::find(begin, bytes);
}

// One call for all attributes, after what CUDA cannot know of; an address that CUDA does not know
// gives zeros.
std::optional<MemoryInfo> CudaMemory::find(Address address, MemoryAccess* access) {
  if (address.value == 0) return std::nullopt;
  if (const auto imported = imports_.find(address)) {
    const PlaceId owner = imported->owner < 0 ? PlaceId{} : gpus_.place_of(imported->owner);
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
    return MemoryInfo{
        gpu >= 0 ? gpus_.place_of(gpu) : gpus_.host(), base, {size}, MemoryKind::managed};
  if (type == kMemoryDevice) {
    const PlaceId place = gpus_.place_of(gpu);
    if (!place.valid()) return std::nullopt;  // a GPU that the machine leaves out
    return MemoryInfo{place, base, {size}, MemoryKind::device};
  }
  if (type == kMemoryHost) return MemoryInfo{gpus_.host(), base, {size}, MemoryKind::pinned};
  return MemoryInfo{gpus_.host(), base, {size}, MemoryKind::pageable};
}

}  // namespace polypath::cuda
