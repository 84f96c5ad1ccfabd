// The memory functions that the interposer has to see, with the results that the program expects.

#include <chrono>
#include <thread>

#include "api/preload/interposer.h"
#include "api/preload/real_driver.h"
#include "api/preload/registered_memory.h"
#include "api/preload/shared_memory.h"
#include "collective/rank/shared_allocations.h"
#include "driver/cuda/opened_memory.h"

namespace polypath::preload {
namespace {

// Before the call, so that no other process gets a handle to memory that is being freed.
void note_free(DevicePointer address) {
  if (SharedMemory* shared = SharedMemory::existing()) shared->freeing(address);
}

// For calls that wait for the driver's own copies of the memory.
void wait_for_copies_of(DevicePointer address) {
  Interposer::get().wait_for_copies_of({static_cast<std::uintptr_t>(address)});
}

Address host_address(const void* memory) { return {reinterpret_cast<std::uintptr_t>(memory)}; }

void wait_for_copies_of(const void* memory) {
  Interposer::get().wait_for_copies_of(host_address(memory));
}

template <auto Register>
Result register_memory(void* memory, std::size_t bytes, unsigned flags) {
  const Result result = (real().*Register)(memory, bytes, flags);
  if (result == cuda::kSuccess)
    RegisteredMemory::of_process().registered(host_address(memory), {bytes}, flags);
  return result;
}

template <auto Open>
Result open_handle(DevicePointer* address, const IpcHandle& handle, unsigned flags) {
  if (Interposer::get().is_off()) return (real().*Open)(address, handle, flags);
  SharedMemory& shared = SharedMemory::of_process();
  const auto known = shared.look_up(handle);
  const Result result = (real().*Open)(address, handle, flags);
  if (result == cuda::kSuccess) shared.opened(handle, known, *address);
  return result;
}

// The driver keeps memory that the program has freed as long as other ranks have it open. They
// close it at their next calls, or once they have made none for a second.
template <class Call>
Result once_others_release(Call call) {
  constexpr std::chrono::milliseconds kPatience(1500), kBetween(1);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  Result result = cuda::kOutOfMemory;
  bool is_kept = SharedAllocations::take_back_freed();
  while (is_kept && result == cuda::kOutOfMemory && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kBetween);
    is_kept = SharedAllocations::take_back_freed();
    result = call();
  }
  return result;
}

// Memory that Polypath has is given back where the program finds none.
template <class Call>
Result with_room(Call call) {
  Result result = call();
  if (result == cuda::kOutOfMemory && Interposer::get().release_memory()) result = call();
  return result == cuda::kOutOfMemory ? once_others_release(call) : result;
}

// Allocations that contexts and threads hold up. A pool mostly allocates without the driver.
template <class Call>
Result noted_with_room(std::size_t bytes, Call call) {
  Interposer::get().note_allocation({bytes});
  return with_room(call);
}

}  // namespace

Result cuMemAlloc_v2(DevicePointer* address, std::size_t bytes) {
  return noted_with_room(bytes, [&] { return real().cuMemAlloc_v2(address, bytes); });
}

Result cuMemAllocPitch_v2(DevicePointer* address, std::size_t* pitch, std::size_t width,
                          std::size_t height, unsigned element) {
  return noted_with_room(width * height, [&] {
    return real().cuMemAllocPitch_v2(address, pitch, width, height, element);
  });
}

Result cuMemAllocManaged(DevicePointer* address, std::size_t bytes, unsigned flags) {
  return noted_with_room(bytes, [&] { return real().cuMemAllocManaged(address, bytes, flags); });
}

Result cuMemAllocAsync(DevicePointer* address, std::size_t bytes, StreamPointer stream) {
  return with_room([&] { return real().cuMemAllocAsync(address, bytes, stream); });
}

Result cuMemAllocAsync_ptsz(DevicePointer* address, std::size_t bytes, StreamPointer stream) {
  return with_room([&] { return real().cuMemAllocAsync_ptsz(address, bytes, stream); });
}

Result cuMemAllocFromPoolAsync(DevicePointer* address, std::size_t bytes, void* pool,
                               StreamPointer stream) {
  return with_room([&] { return real().cuMemAllocFromPoolAsync(address, bytes, pool, stream); });
}

Result cuMemAllocFromPoolAsync_ptsz(DevicePointer* address, std::size_t bytes, void* pool,
                                    StreamPointer stream) {
  return with_room(
      [&] { return real().cuMemAllocFromPoolAsync_ptsz(address, bytes, pool, stream); });
}

Result cuMemCreate(std::uint64_t* memory, std::size_t bytes, const void* properties,
                   unsigned long long flags) {
  return noted_with_room(bytes,
                         [&] { return real().cuMemCreate(memory, bytes, properties, flags); });
}

Result cuMemImportFromShareableHandle(std::uint64_t* memory, void* handle, unsigned type) {
  const Result result = real().cuMemImportFromShareableHandle(memory, handle, type);
  if (result == cuda::kSuccess && type == cuda::kFabricHandles)
    cuda::OpenedMemory::note_fabric_import();
  return result;
}

Result cuMemFree_v2(DevicePointer address) {
  note_free(address);
  wait_for_copies_of(address);
  return real().cuMemFree_v2(address);
}

Result cuMemFreeHost(void* memory) {
  wait_for_copies_of(memory);
  return real().cuMemFreeHost(memory);
}

Result cuMemHostRegister(void* memory, std::size_t bytes, unsigned flags) {
  return register_memory<&RealFunctions::cuMemHostRegister>(memory, bytes, flags);
}

Result cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned flags) {
  return register_memory<&RealFunctions::cuMemHostRegister_v2>(memory, bytes, flags);
}

Result cuMemHostUnregister(void* memory) {
  wait_for_copies_of(memory);
  const Result result = real().cuMemHostUnregister(memory);
  if (result == cuda::kSuccess) RegisteredMemory::of_process().unregistered(host_address(memory));
  return result;
}

// In the order of the stream, into which copies are joined: nothing is waited for.
Result cuMemFreeAsync(DevicePointer address, StreamPointer stream) {
  note_free(address);
  return real().cuMemFreeAsync(address, stream);
}

Result cuMemFreeAsync_ptsz(DevicePointer address, StreamPointer stream) {
  note_free(address);
  return real().cuMemFreeAsync_ptsz(address, stream);
}

Result cuIpcGetMemHandle(IpcHandle* handle, DevicePointer address) {
  const Result result = real().cuIpcGetMemHandle(handle, address);
  if (result == cuda::kSuccess && !Interposer::get().is_off())
    SharedMemory::of_process().exported(*handle, address);
  return result;
}

Result cuIpcOpenMemHandle(DevicePointer* address, IpcHandle handle, unsigned flags) {
  return open_handle<&RealFunctions::cuIpcOpenMemHandle>(address, handle, flags);
}

Result cuIpcOpenMemHandle_v2(DevicePointer* address, IpcHandle handle, unsigned flags) {
  return open_handle<&RealFunctions::cuIpcOpenMemHandle_v2>(address, handle, flags);
}

Result cuIpcCloseMemHandle(DevicePointer address) {
  SharedMemory* shared = SharedMemory::existing();
  // Off, nothing of ours uses it; in a forked child its list must not even be looked at.
  if (shared != nullptr && !Interposer::get().is_off()) shared->closing(address);
  wait_for_copies_of(address);
  return real().cuIpcCloseMemHandle(address);
}

}  // namespace polypath::preload
