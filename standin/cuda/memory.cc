// Allocation and registration of memory.

#include <vector>

#include "standin/state/process.h"

namespace polypath::standin {
namespace {

constexpr std::uint64_t kPitchAlignment = 512;

Allocation allocation(Process& process, MemoryOrigin origin, std::size_t bytes, unsigned flags) {
  process.check_no_capture();
  if (bytes == 0) refuse(kInvalidValue, "an allocation has at least one byte");
  const Context& context = process.contexts.current();
  Allocation memory;
  memory.origin = origin;
  memory.size = {bytes};
  memory.context = context.handle;
  memory.ordinal = context.ordinal;
  memory.flags = flags;
  return memory;
}

DevicePointer allocate_device(Process& process, std::size_t bytes) {
  Allocation memory = allocation(process, MemoryOrigin::device, bytes, 0);
  if (process.used(memory.ordinal) + memory.size > process.settings.memory) {
    process.collect(process.contexts.current().gpu);
    refuse(kOutOfMemory, "the GPU has no room left (STANDIN_MEMORY)");
  }
  memory.segment = Segment::create(memory.size);
  const PlaceId place = process.contexts.current().gpu;
  return process.allocations.add_device(place, std::move(memory)).value;
}

void* allocate_host(Process& process, MemoryOrigin origin, std::size_t bytes, unsigned flags) {
  Allocation memory = allocation(process, origin, bytes, flags);
  const Address base = process.allocations.add_host(process.host(), std::move(memory));
  return reinterpret_cast<void*>(base.value);
}

// cuMemFree takes managed memory and that of pools as well.
const Allocation& allocated(Process& process, Address address) {
  process.check_no_capture();
  const Allocation& memory = process.allocations.get(address);
  if (memory.freed ||
      (memory.origin != MemoryOrigin::device && memory.origin != MemoryOrigin::managed &&
       memory.origin != MemoryOrigin::pooled))
    refuse(kInvalidValue, "the memory was not allocated by cuMemAlloc");
  return memory;
}

const Allocation& allocated_host(Process& process, Address address) {
  process.check_no_capture();
  const Allocation& memory = process.allocations.get(address);
  if (memory.origin != MemoryOrigin::pinned || memory.base != address)
    refuse(kInvalidValue, "the memory was not allocated by cuMemHostAlloc");
  return memory;
}

const Allocation& registered_host(Process& process, Address address) {
  process.check_no_capture();
  const Allocation* memory = process.allocations.find(address);
  if (memory == nullptr || memory->origin != MemoryOrigin::registered || memory->base != address)
    refuse(kHostMemoryNotRegistered, "the memory has not been registered");
  return *memory;
}

// A pool gives what was freed to the next one at once, as CUDA's documentation of cuMemFree says.
Waiting finish_before_free(Process& process, const Allocation& memory) {
  if (memory.origin == MemoryOrigin::pooled) return {};
  return process.runner->finish_before_free(memory.context,
                                            process.contexts.gpu(memory.ordinal).place);
}

void free_memory(Process& process, Address address) {
  const MemoryOrigin origin = allocated(process, address).origin;
  if (origin == MemoryOrigin::pooled) return process.pools.free_now(address);
  process.allocations.remove(address, origin, kInvalidValue);
}

void register_host(Process& process, void* begin, std::size_t bytes, unsigned flags) {
  Allocation memory = allocation(process, MemoryOrigin::registered, bytes, flags);
  memory.base = {reinterpret_cast<std::uintptr_t>(begin)};
  if (begin == nullptr) refuse(kInvalidValue, "there is nothing to register");
  if (process.allocations.overlaps(memory.base, memory.size))
    refuse(kHostMemoryAlreadyRegistered, "some of it is known to the driver already");
  process.allocations.add_registered(process.host(), std::move(memory));
}

Address address_of(const void* pointer) { return {reinterpret_cast<std::uintptr_t>(pointer)}; }
Address address_of(DevicePointer pointer) { return {static_cast<std::uintptr_t>(pointer)}; }

}  // namespace
}  // namespace polypath::standin

using namespace polypath;
using namespace polypath::standin;

STANDIN_EXPORT Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return enter("cuMemGetInfo", [&](Process& process) {
    const Bytes used = process.used(process.contexts.current().ordinal);
    store(free, (process.settings.memory - used).value);
    store(total, process.settings.memory.value);
  });
}

STANDIN_EXPORT Result cuMemAlloc_v2(DevicePointer* where, std::size_t bytes) {
  return enter("cuMemAlloc",
               [&](Process& process) { store(where, allocate_device(process, bytes)); });
}

STANDIN_EXPORT Result cuMemAllocPitch_v2(DevicePointer* where, std::size_t* pitch,
                                         std::size_t width, std::size_t height, unsigned) {
  return enter("cuMemAllocPitch", [&](Process& process) {
    const std::size_t row = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    store(where, allocate_device(process, row * height));
    store(pitch, row);
  });
}

STANDIN_EXPORT Result cuMemAllocManaged(DevicePointer* where, std::size_t bytes, unsigned flags) {
  return enter("cuMemAllocManaged", [&](Process& process) {
    store(where, reinterpret_cast<std::uintptr_t>(
                     allocate_host(process, MemoryOrigin::managed, bytes, flags)));
  });
}

STANDIN_EXPORT Result cuMemFree_v2(DevicePointer pointer) {
  return enter_unlocked("cuMemFree", [&](Process& process) {
    const Address address = address_of(pointer);
    if (pointer == 0) return;
    under_lock(process, [&](Process& locked) {
      return finish_before_free(locked, allocated(locked, address));
    });
    under_lock(process, [&](Process& locked) { free_memory(locked, address); });
  });
}

STANDIN_EXPORT Result cuMemHostAlloc(void** where, std::size_t bytes, unsigned flags) {
  return enter("cuMemHostAlloc", [&](Process& process) {
    store(where, allocate_host(process, MemoryOrigin::pinned, bytes, flags));
  });
}

STANDIN_EXPORT Result cuMemAllocHost_v2(void** where, std::size_t bytes) {
  return enter("cuMemAllocHost", [&](Process& process) {
    store(where, allocate_host(process, MemoryOrigin::pinned, bytes, 0));
  });
}

STANDIN_EXPORT Result cuMemFreeHost(void* pointer) {
  return enter_unlocked("cuMemFreeHost", [&](Process& process) {
    const Address address = address_of(pointer);
    if (pointer == nullptr) return;
    under_lock(process, [&](Process& locked) {
      return finish_before_free(locked, allocated_host(locked, address));
    });
    under_lock(process, [&](Process& locked) {
      locked.allocations.remove(address, MemoryOrigin::pinned, kInvalidValue);
    });
  });
}

STANDIN_EXPORT Result cuMemHostRegister_v2(void* begin, std::size_t bytes, unsigned flags) {
  return enter("cuMemHostRegister",
               [&](Process& process) { register_host(process, begin, bytes, flags); });
}

STANDIN_EXPORT Result cuMemHostUnregister(void* begin) {
  return enter_unlocked("cuMemHostUnregister", [&](Process& process) {
    const Address address = address_of(begin);
    under_lock(process, [&](Process& locked) {
      return finish_before_free(locked, registered_host(locked, address));
    });
    under_lock(process, [&](Process& locked) {
      locked.allocations.remove(address, MemoryOrigin::registered, kHostMemoryNotRegistered);
    });
  });
}

STANDIN_EXPORT Result cuMemHostGetDevicePointer_v2(DevicePointer* where, void* pointer, unsigned) {
  return enter("cuMemHostGetDevicePointer", [&](Process& process) {
    const MemoryOrigin origin = process.allocations.get(address_of(pointer)).origin;
    if (origin != MemoryOrigin::pinned && origin != MemoryOrigin::registered)
      refuse(kInvalidValue, "the memory is not pinned");
    store(where, reinterpret_cast<std::uintptr_t>(pointer));
  });
}

STANDIN_EXPORT Result cuMemHostGetFlags(unsigned* where, void* pointer) {
  return enter("cuMemHostGetFlags", [&](Process& process) {
    store(where, process.allocations.get(address_of(pointer)).flags);
  });
}
