// Virtual memory management: memory apart from addresses. Only device memory, mapped as a whole.

#include "standin/state/process.h"

namespace polypath::standin {
namespace {

constexpr int kPinnedOnDevice = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
constexpr int kOnDevice = 1;        // CU_MEM_LOCATION_TYPE_DEVICE

int device_of(const cuda::MemoryLocation& location) {
  if (location.type != kOnDevice) refuse(kNotSupported, "only memory of GPUs is made here");
  return location.id;
}

Address at(DevicePointer pointer) { return {static_cast<std::uintptr_t>(pointer)}; }

void create(Process& process, std::uint64_t* handle, std::size_t size,
            const cuda::MemoryProperties* wanted) {
  if (handle == nullptr || wanted == nullptr) refuse(kInvalidValue, "an argument is null");
  if (wanted->type != kPinnedOnDevice) refuse(kInvalidValue, "there is no such type of memory");
  const auto types = static_cast<unsigned>(wanted->handle_types);
  if ((types & cuda::kFabricHandles) != 0 && !process.settings.fabric)
    refuse(kNotPermitted, "the computer is in no fabric (STANDIN_FABRIC)");
  const int device = device_of(wanted->location);
  (void)process.contexts.gpu(device);
  if (process.used(device) + Bytes{size} > process.settings.memory) {
    process.collect(process.contexts.gpu(device).place);
    refuse(kOutOfMemory, "the GPU has no room left (STANDIN_MEMORY)");
  }
  *handle = process.virtual_memory.create(device, process.contexts.gpu(device).uuid, {size},
                                          wanted->handle_types);
}

void open(Process& process, DevicePointer begin, std::size_t size, const cuda::MemoryUser* users,
          std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const int access = users[i].access;
    if (access != 0 && access != kMayRead && access != kMayWrite)
      refuse(kInvalidValue, "there is no such access");
    const int device = device_of(users[i].location);
    (void)process.contexts.gpu(device);
    process.virtual_memory.open(at(begin), {size}, device, access);
  }
}

// CUmemFabricHandle, within a process.
struct FabricHandle {
  std::uint64_t memory;
  unsigned char rest[56];
};

void export_memory(Process& process, void* where, std::uint64_t memory, unsigned type) {
  if (type == cuda::kFileHandles)
    return store(static_cast<int*>(where), process.virtual_memory.file_of(memory));
  const auto types = static_cast<unsigned>(process.virtual_memory.handle_types_of(memory));
  if (type != cuda::kFabricHandles) refuse(kNotSupported, "there are no such handles here");
  if ((types & type) == 0) refuse(kInvalidValue, "the memory was not made to be shared so");
  store(static_cast<FabricHandle*>(where), FabricHandle{.memory = memory, .rest = {}});
}

// The driver takes a file's number for the pointer.
std::uint64_t import_file(Process& process, int file) {
  const VirtualMemory::Uuid uuid = VirtualMemory::gpu_of_file(file);
  for (int device = 0; device < static_cast<int>(process.contexts.gpus().size()); ++device)
    if (process.contexts.gpu(device).uuid == uuid)
      return process.virtual_memory.import_file(file, device);
  refuse(kInvalidValue, "the memory is of a GPU that is not visible here");
}

std::uint64_t import_memory(Process& process, const void* handle, unsigned type) {
  if (type == cuda::kFileHandles)
    return import_file(process, static_cast<int>(reinterpret_cast<std::intptr_t>(handle)));
  if (type != cuda::kFabricHandles) refuse(kNotSupported, "there are no such handles here");
  if (handle == nullptr) refuse(kInvalidValue, "an argument is null");
  return process.virtual_memory.import(static_cast<const FabricHandle*>(handle)->memory);
}

int access_of(Process& process, const cuda::MemoryLocation* location, DevicePointer pointer) {
  if (location == nullptr) refuse(kInvalidValue, "an argument is null");
  const Allocation& memory = process.allocations.get(at(pointer));
  if (memory.origin != MemoryOrigin::mapped) return 0;  // says CUDA 13.0 of memory of any kind
  const auto found = memory.access->find(device_of(*location));
  return found == memory.access->end() ? 0 : found->second;
}

}  // namespace
}  // namespace polypath::standin

using namespace polypath;
using namespace polypath::standin;

STANDIN_EXPORT Result cuMemGetAllocationGranularity(std::size_t* where,
                                                    const cuda::MemoryProperties*, int) {
  return enter("cuMemGetAllocationGranularity",
               [&](Process&) { store(where, VirtualMemory::kGranularity); });
}

STANDIN_EXPORT Result cuMemCreate(std::uint64_t* handle, std::size_t size,
                                  const cuda::MemoryProperties* wanted, unsigned long long) {
  return enter("cuMemCreate", [&](Process& process) { create(process, handle, size, wanted); });
}

STANDIN_EXPORT Result cuMemRetainAllocationHandle(std::uint64_t* handle, void* address) {
  return enter("cuMemRetainAllocationHandle", [&](Process& process) {
    store(handle, process.virtual_memory.retain({reinterpret_cast<std::uintptr_t>(address)}));
  });
}

STANDIN_EXPORT Result cuMemRelease(std::uint64_t handle) {
  return enter("cuMemRelease", [&](Process& process) { process.virtual_memory.release(handle); });
}

STANDIN_EXPORT Result cuMemAddressReserve(DevicePointer* where, std::size_t size, std::size_t,
                                          DevicePointer, unsigned long long) {
  return enter("cuMemAddressReserve", [&](Process& process) {
    store(where, process.virtual_memory.reserve({size}).value);
  });
}

STANDIN_EXPORT Result cuMemAddressFree(DevicePointer begin, std::size_t size) {
  return enter("cuMemAddressFree",
               [&](Process& process) { process.virtual_memory.free_address(at(begin), {size}); });
}

STANDIN_EXPORT Result cuMemMap(DevicePointer begin, std::size_t size, std::size_t offset,
                               std::uint64_t handle, unsigned long long) {
  return enter("cuMemMap", [&](Process& process) {
    if (offset != 0) refuse(kNotSupported, "memory is mapped as a whole here");
    const int device = process.virtual_memory.ordinal_of(handle);
    process.virtual_memory.map(at(begin), {size}, handle, process.contexts.gpu(device).place);
  });
}

STANDIN_EXPORT Result cuMemUnmap(DevicePointer begin, std::size_t size) {
  return enter("cuMemUnmap",
               [&](Process& process) { process.virtual_memory.unmap(at(begin), {size}); });
}

STANDIN_EXPORT Result cuMemSetAccess(DevicePointer begin, std::size_t size,
                                     const cuda::MemoryUser* users, std::size_t count) {
  return enter("cuMemSetAccess",
               [&](Process& process) { open(process, begin, size, users, count); });
}

STANDIN_EXPORT Result cuMemGetAccess(unsigned long long* flags,
                                     const cuda::MemoryLocation* location, DevicePointer pointer) {
  return enter("cuMemGetAccess", [&](Process& process) {
    store(flags, static_cast<unsigned long long>(access_of(process, location, pointer)));
  });
}

STANDIN_EXPORT Result cuMemExportToShareableHandle(void* where, std::uint64_t memory, unsigned type,
                                                   unsigned long long) {
  return enter("cuMemExportToShareableHandle",
               [&](Process& process) { export_memory(process, where, memory, type); });
}

STANDIN_EXPORT Result cuMemImportFromShareableHandle(std::uint64_t* memory, void* handle,
                                                     unsigned type) {
  return enter("cuMemImportFromShareableHandle",
               [&](Process& process) { store(memory, import_memory(process, handle, type)); });
}
