// What the interposer must know of the program's memory, as the program finds it.

#include "preload/interposer.h"
#include "preload/real_driver.h"
#include "preload/shared_memory.h"

namespace polypath::preload {
namespace {

// Before the call: nobody is to be told of memory that is being freed.
void note_free(DevicePointer address) {
  if (SharedMemory* shared = SharedMemory::existing()) shared->freeing(address);
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

}  // namespace

Result cuMemFree_v2(DevicePointer address) {
  note_free(address);
  return real().cuMemFree_v2(address);
}

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
  return real().cuIpcCloseMemHandle(address);
}

}  // namespace polypath::preload
