// Pools of memory, and allocations in the order of streams.

#include "standin/state/process.h"

namespace polypath::standin {
namespace {

constexpr int kOnDevice = 1;  // CU_MEM_LOCATION_TYPE_DEVICE

// CUmemPoolProps
struct PoolProperties {
  int allocation_type;
  int handle_types;
  cuda::MemoryLocation location;
  void* win32;
  std::size_t most;
  unsigned char rest[56];
};
static_assert(sizeof(PoolProperties) == 88);

std::uintptr_t number_of(const void* pool) { return reinterpret_cast<std::uintptr_t>(pool); }

int device_of(const cuda::MemoryLocation& location) {
  if (location.type != kOnDevice) refuse(kNotSupported, "pools are of GPUs here");
  return location.id;
}

std::uintptr_t default_pool(Process& process, Device device) {
  return process.pools.default_of(device, process.contexts.gpu(device).place);
}

Stream& stream_of(Process& process, StreamArgument argument) {
  Stream& stream = process.stream(argument, WorkKind::fill);
  if (stream.capturing.active())
    spoil(stream.capturing, kCaptureUnsupported, "graphs here have no allocations");
  return stream;
}

void allocate(Process& process, DevicePointer* where, std::size_t bytes, const void* pool,
              StreamArgument argument) {
  Stream& stream = stream_of(process, argument);
  const Device own = process.contexts.find(stream.context).ordinal;
  const std::uintptr_t number = pool != nullptr ? number_of(pool) : default_pool(process, own);
  const Device device = process.pools.find(number).ordinal;
  if (process.used(device) + Bytes{bytes} > process.settings.memory) process.pools.trim();
  if (process.used(device) + Bytes{bytes} > process.settings.memory)
    refuse(kOutOfMemory, "the GPU has no room left (STANDIN_MEMORY)");
  store(where, process.pools.allocate(number, {bytes}, stream.work).value);
}

Result allocate(const char* name, DevicePointer* where, std::size_t bytes, const void* pool,
                StreamArgument stream) {
  return enter(name, [&](Process& process) { allocate(process, where, bytes, pool, stream); });
}

Result free_later(DevicePointer pointer, StreamArgument stream) {
  return enter("cuMemFreeAsync", [&](Process& process) {
    process.pools.free({static_cast<std::uintptr_t>(pointer)}, stream_of(process, stream).work);
  });
}

void open(Process& process, const void* pool, const cuda::MemoryUser* users, std::size_t count) {
  Pool& opened = process.pools.find(number_of(pool));
  for (std::size_t i = 0; i < count; ++i) {
    const int device = device_of(users[i].location);
    const Gpu& gpu = process.contexts.gpu(device);
    if (device != opened.ordinal && !gpu.reaches[process.contexts.gpu(opened.ordinal).index])
      refuse(kInvalidDevice, "the GPUs cannot reach each other");
    if (device == opened.ordinal && users[i].access != kMayWrite)
      refuse(kInvalidValue, "a pool stays open to its own GPU");
    (*opened.access)[device] = users[i].access;
  }
}

int access_of(Process& process, const void* pool, const cuda::MemoryLocation* location) {
  if (location == nullptr) refuse(kInvalidValue, "an argument is null");
  const GpuAccess& access = *process.pools.find(number_of(pool)).access;
  const auto found = access.find(device_of(*location));
  return found == access.end() ? 0 : found->second;
}

}  // namespace
}  // namespace polypath::standin

using namespace polypath;
using namespace polypath::standin;

STANDIN_EXPORT Result cuDeviceGetDefaultMemPool(void** where, Device device) {
  return enter("cuDeviceGetDefaultMemPool", [&](Process& process) {
    store(where, reinterpret_cast<void*>(default_pool(process, device)));
  });
}

STANDIN_EXPORT Result cuDeviceGetMemPool(void** where, Device device) {
  return cuDeviceGetDefaultMemPool(where, device);
}

STANDIN_EXPORT Result cuMemPoolCreate(void** where, const void* properties) {
  return enter("cuMemPoolCreate", [&](Process& process) {
    if (properties == nullptr) refuse(kInvalidValue, "an argument is null");
    const auto& wanted = *static_cast<const PoolProperties*>(properties);
    const int device = device_of(wanted.location);
    const std::uintptr_t pool = process.pools.create({.ordinal = device,
                                                      .gpu = process.contexts.gpu(device).place,
                                                      .handle_types = wanted.handle_types,
                                                      .access = {}});
    store(where, reinterpret_cast<void*>(pool));
  });
}

STANDIN_EXPORT Result cuMemPoolDestroy(void* pool) {
  return enter("cuMemPoolDestroy",
               [&](Process& process) { process.pools.destroy(number_of(pool)); });
}

STANDIN_EXPORT Result cuMemPoolTrimTo(void* pool, std::size_t) {
  return enter("cuMemPoolTrimTo", [&](Process& process) {
    (void)process.pools.find(number_of(pool));
    process.pools.trim();
  });
}

STANDIN_EXPORT Result cuMemPoolSetAccess(void* pool, const cuda::MemoryUser* users,
                                         std::size_t count) {
  return enter("cuMemPoolSetAccess", [&](Process& process) { open(process, pool, users, count); });
}

STANDIN_EXPORT Result cuMemPoolGetAccess(int* flags, void* pool,
                                         const cuda::MemoryLocation* location) {
  return enter("cuMemPoolGetAccess",
               [&](Process& process) { store(flags, access_of(process, pool, location)); });
}

STANDIN_BOTH(cuMemAllocAsync, _ptsz,
             (DevicePointer * where, std::size_t bytes, StreamPointer stream),
             allocate("cuMemAllocAsync", where, bytes, nullptr, {stream, kZero}))
STANDIN_BOTH(cuMemAllocFromPoolAsync, _ptsz,
             (DevicePointer * where, std::size_t bytes, void* pool, StreamPointer stream),
             allocate("cuMemAllocFromPoolAsync", where, bytes, pool, {stream, kZero}))
STANDIN_BOTH(cuMemFreeAsync, _ptsz, (DevicePointer pointer, StreamPointer stream),
             free_later(pointer, {stream, kZero}))
