// Memory that processes share by handles (CUDA IPC): of allocations that cuMemAlloc made.

#include <fmt/format.h>

#include <cstring>

#include "core/error.h"
#include "core/process_identity.h"
#include "driver/cuda/cuda_driver.h"
#include "driver/cuda/exported.h"

namespace polypath::cuda {

ExportedMemory CudaDriver::export_memory(Address address) {
  if (auto pages = export_pages(address)) return std::move(*pages);
  MemoryAccess access;
  const auto memory = find_memory(address, &access);
  if (!memory || memory->kind != MemoryKind::device || !access.shareable || imports_.find(address))
    fail(ErrorCode::unsupported, fmt::format("0x{:x} cannot be shared", address.value),
         "only memory that this process has from cuMemAlloc or allocate_shareable can",
         "Allocate it there.");
  SharedMemory shared;
  shared.exporter = this_process().value_or(ProcessIdentity{});
  shared.base = memory->base.value;
  shared.size = memory->size.value;
  shared.offset = address.value - memory->base.value;
  check(cuda_.device_uuid(&shared.gpu, ordinal(memory->place)), "cuDeviceGetUuid");
  const Current current(contexts_.of(ordinal(memory->place)));
  const RelaxedCapture relaxed;
  check(cuda_.ipc_export(&shared.handle, memory->base.value), "cuIpcGetMemHandle");
  return bytes_of(shared);
}

// The GPU among those that this process sees.
int CudaDriver::owner_of(const SharedMemory& shared) const {
  for (int gpu = 0; gpu < static_cast<int>(gpus_.size()); ++gpu) {
    GpuUuid uuid;
    if (cuda_.device_uuid(&uuid, gpu) == kSuccess && uuid == shared.gpu) return gpu;
  }
  return kOwnerHidden;
}

// A process cannot open its own handle, nor need it.
Address CudaDriver::open(const SharedMemory& shared, int gpu) {
  const auto self = this_process();
  if (self && *self == shared.exporter) return {};
  const ContextPointer context = contexts_.of(gpu);
  const Current current(context);
  const RelaxedCapture relaxed;
  DevicePointer base = 0;
  check(cuda_.ipc_open(&base, shared.handle, kIpcLazyPeerAccess), "cuIpcOpenMemHandle");
  imports_.add({.base = {static_cast<std::uintptr_t>(base)},
                .size = {shared.size},
                .handle = shared.handle,
                .context = context,
                .owner = owner_of(shared),
                .id = id_of_memory({static_cast<std::uintptr_t>(base)})},
               [] { return true; });
  return {static_cast<std::uintptr_t>(base)};
}

Address CudaDriver::import_memory(const ExportedMemory& memory, PlaceId gpu) {
  static_assert(sizeof(SharedHostMemory) != sizeof(SharedMemory));
  if (memory.size() == sizeof(SharedHostMemory)) return import_pages(memory);
  if (memory.size() == sizeof(SharedMemory)) return import_device(memory, gpu);
  fail(ErrorCode::invalid_argument, "memory cannot be imported",
       fmt::format("{} bytes name none", memory.size()), "Pass what export_memory returned.");
}

Address CudaDriver::import_device(const ExportedMemory& memory, PlaceId gpu) {
  SharedMemory shared;
  std::memcpy(&shared, memory.data(), sizeof shared);
  const Address base = open(shared, ordinal(gpu));
  const Address begin = base.value != 0 ? base : Address{static_cast<std::uintptr_t>(shared.base)};
  const Address address = begin + Bytes{shared.offset};
  const std::scoped_lock lock(mutex_);
  opened_.emplace(address, base);
  return address;
}

void CudaDriver::release_import(Address address) {
  std::unique_lock lock(mutex_);
  const auto found = opened_.find(address);
  if (found == opened_.end())
    fail(ErrorCode::invalid_argument, fmt::format("0x{:x} cannot be given back", address.value),
         "import_memory did not return it, or it was given back", "Give each import back once.");
  const Address base = found->second;
  opened_.erase(found);
  auto pages = opened_pages_.extract(base);
  lock.unlock();
  if (!pages.empty()) return release_pages(std::move(pages.mapped()));
  if (base.value == 0) return;
  const auto import = imports_.find(base);
  imports_.remove(base);
  const Current current(import ? import->context : contexts_.any());
  const RelaxedCapture relaxed;
  check(cuda_.ipc_close(base.value), "cuIpcCloseMemHandle");
}

}  // namespace polypath::cuda
