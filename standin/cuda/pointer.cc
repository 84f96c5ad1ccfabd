// Queries about an address.

#include <cstring>
#include <map>

#include "standin/state/process.h"

namespace polypath::standin {
namespace {

// CUpointer_attribute
enum Attribute : int {
  kContext = 1,
  kMemoryType = 2,
  kDevicePointer = 3,
  kHostPointer = 4,
  kSyncMemops = 6,
  kBufferId = 7,
  kIsManaged = 8,
  kDeviceOrdinal = 9,
  kIsIpcCapable = 10,
  kRangeStart = 11,
  kRangeSize = 12,
  kMapped = 13,
  kAllowedHandleTypes = 14,
  kIsGpuDirectRdmaCapable = 15,
  kAccessFlags = 16,
  kMempoolHandle = 17,
  kMappingSize = 18,
  kMappingBase = 19,
  kMemoryBlockId = 20,
};

constexpr std::uint64_t kPoolPiece = 32 << 20;  // bytes

bool is_touchable(const Allocation& memory) {
  return memory.origin != MemoryOrigin::device && memory.origin != MemoryOrigin::imported &&
         !is_opened(memory);
}

// Managed memory counts as a GPU's.
unsigned memory_type(const Allocation& memory) {
  const bool host =
      memory.origin == MemoryOrigin::pinned || memory.origin == MemoryOrigin::registered;
  return host ? cuda::kMemoryHost : cuda::kMemoryDevice;
}

template <class Value>
void put(void* where, Value value) {
  std::memcpy(where, &value, sizeof value);
}

// Each attribute of memory that the driver knows; `asked` lies in it.
using Answer = void (*)(void* where, const Allocation& memory, Address asked);

template <unsigned kValue>
void constant(void* where, const Allocation&, Address) {
  put(where, kValue);
}
void context(void* where, const Allocation& memory, Address) {
  put(where, reinterpret_cast<std::uintptr_t>(memory.context));
}
void type(void* where, const Allocation& memory, Address) { put(where, memory_type(memory)); }
void pointer(void* where, const Allocation&, Address asked) { put(where, asked.value); }
void host_pointer(void* where, const Allocation& memory, Address asked) {
  if (!is_touchable(memory)) refuse(kInvalidValue, "the host cannot touch the memory");
  put(where, asked.value);
}
void synchronous(void* where, const Allocation& memory, Address) {
  put(where, memory.synchronous_copies ? 1U : 0U);
}
void id(void* where, const Allocation& memory, Address) { put(where, memory.id); }
void managed(void* where, const Allocation& memory, Address) {
  put(where, memory.origin == MemoryOrigin::managed ? 1U : 0U);
}
void ordinal(void* where, const Allocation& memory, Address) { put(where, memory.ordinal); }
void ipc_capable(void* where, const Allocation& memory, Address) {
  put(where, memory.origin == MemoryOrigin::device ? 1U : 0U);
}
// Of mapped memory the whole reservation.
void begin(void* where, const Allocation& memory, Address) {
  put(where, (memory.reserved_size.value > 0 ? memory.reserved : memory.base).value);
}
void size(void* where, const Allocation& memory, Address) {
  put(where, (memory.reserved_size.value > 0 ? memory.reserved_size : memory.size).value);
}
// A pool maps its memory in pieces of one size, larger or smaller than what it gives out (CUDA
// 13.0).
void mapping_begin(void* where, const Allocation& memory, Address address) {
  const std::uint64_t offset = memory.origin == MemoryOrigin::pooled
                                   ? (address.value - memory.base.value) / kPoolPiece * kPoolPiece
                                   : 0;
  put(where, memory.base.value + offset);
}
void mapping_size(void* where, const Allocation& memory, Address) {
  put(where, memory.origin == MemoryOrigin::pooled ? kPoolPiece : memory.size.value);
}
void handle_types(void* where, const Allocation& memory, Address) {
  put(where, static_cast<std::uint64_t>(memory.handle_types));
}
void pool(void* where, const Allocation& memory, Address) { put(where, memory.pool); }

const std::map<int, Answer>& answers() {
  static const auto& table = *new std::map<int, Answer>{
      {kContext, context},
      {kMemoryType, type},
      {kDevicePointer, pointer},
      {kHostPointer, host_pointer},
      {kSyncMemops, synchronous},
      {kBufferId, id},
      {kIsManaged, managed},
      {kDeviceOrdinal, ordinal},
      {kIsIpcCapable, ipc_capable},
      {kRangeStart, begin},
      {kRangeSize, size},
      {kMapped, constant<1>},
      {kAllowedHandleTypes, handle_types},
      {kIsGpuDirectRdmaCapable, constant<0>},
      {kAccessFlags, constant<kMayWrite>},
      {kMempoolHandle, pool},
      {kMappingSize, mapping_size},
      {kMappingBase, mapping_begin},
      {kMemoryBlockId, id},
  };
  return table;
}

void answer(void* where, int attribute, const Allocation& memory, Address asked) {
  const auto found = answers().find(attribute);
  if (found == answers().end()) refuse(kInvalidValue, "there is no such attribute of a pointer");
  found->second(where, memory, asked);
}

// Of memory that the driver does not know: zeros, and no device.
void answer_unknown(void* where, int attribute) {
  switch (attribute) {
    case kMemoryType:
    case kSyncMemops:
    case kIsManaged:
    case kIsIpcCapable:
    case kMapped:
    case kIsGpuDirectRdmaCapable:
    case kAccessFlags: return put(where, 0U);
    case kDeviceOrdinal: return put(where, kInvalidOrdinal);
    default: return put(where, std::uint64_t{0});
  }
}

void set_attribute(Process& process, const void* value, int attribute, Address address) {
  if (attribute != kSyncMemops || value == nullptr)
    refuse(kInvalidValue, "only CU_POINTER_ATTRIBUTE_SYNC_MEMOPS can be set");
  unsigned flag = 0;
  std::memcpy(&flag, value, sizeof flag);
  process.allocations.get(address).synchronous_copies = flag != 0;
}

Address address_of(DevicePointer pointer) { return {static_cast<std::uintptr_t>(pointer)}; }

}  // namespace
}  // namespace polypath::standin

using namespace polypath;
using namespace polypath::standin;

STANDIN_EXPORT Result cuPointerGetAttribute(void* where, int attribute, DevicePointer pointer) {
  return enter("cuPointerGetAttribute", [&](Process& process) {
    const Address address = address_of(pointer);
    if (where == nullptr) refuse(kInvalidValue, "the result has nowhere to go");
    answer(where, attribute, process.allocations.get(address), address);
  });
}

STANDIN_EXPORT Result cuPointerGetAttributes(unsigned count, int* attributes, void** where,
                                             DevicePointer pointer) {
  return enter("cuPointerGetAttributes", [&](Process& process) {
    const Address address = address_of(pointer);
    if (attributes == nullptr || where == nullptr) refuse(kInvalidValue, "nothing is asked for");
    const Allocation* memory = process.allocations.find(address);
    for (unsigned i = 0; i < count; ++i) {
      const bool none =
          memory == nullptr || (attributes[i] == kHostPointer && !is_touchable(*memory));
      if (none) answer_unknown(where[i], attributes[i]);
      else answer(where[i], attributes[i], *memory, address);
    }
  });
}

STANDIN_EXPORT Result cuPointerSetAttribute(const void* value, int attribute,
                                            DevicePointer pointer) {
  return enter("cuPointerSetAttribute", [&](Process& process) {
    set_attribute(process, value, attribute, address_of(pointer));
  });
}
