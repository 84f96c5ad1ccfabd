// Queries about ranges of memory.

#include <cstring>

#include "standin/state/process.h"

namespace polypath::standin {
namespace {

// CUmem_range_attribute: where managed memory is preferred, was last prefetched to, and so on.
void answer_range(Process& process, void* where, std::size_t size, int attribute, Address begin) {
  if (process.allocations.get(begin).origin != MemoryOrigin::managed)
    refuse(kInvalidValue, "the memory is not managed");
  constexpr int kReadMostly = 1, kLastAttribute = 8;
  if (attribute < kReadMostly || attribute > kLastAttribute || size < sizeof(int))
    refuse(kInvalidValue, "there is no such attribute of a range");
  const int value = attribute == kReadMostly ? 0 : kInvalidOrdinal;
  std::memcpy(where, &value, sizeof value);
}

Address address_of(DevicePointer pointer) { return {static_cast<std::uintptr_t>(pointer)}; }

}  // namespace
}  // namespace polypath::standin

using namespace polypath;
using namespace polypath::standin;

STANDIN_EXPORT Result cuMemGetAddressRange_v2(DevicePointer* base, std::size_t* size,
                                              DevicePointer pointer) {
  return enter("cuMemGetAddressRange", [&](Process& process) {
    const Allocation* memory = process.allocations.find(address_of(pointer));
    if (memory == nullptr) refuse(kNotFound, "the driver knows no memory there");
    // As seen on H200, CUDA 13.0: a mapping is known in the context that opened it only.
    if (memory->origin == MemoryOrigin::imported && memory->context != Contexts::current_pointer())
      refuse(kNotFound, "another context opened the mapping");
    if (base != nullptr) *base = memory->base.value;
    if (size != nullptr) *size = memory->size.value;
  });
}

STANDIN_EXPORT Result cuMemRangeGetAttribute(void* where, std::size_t size, int attribute,
                                             DevicePointer begin, std::size_t) {
  return enter("cuMemRangeGetAttribute", [&](Process& process) {
    if (where == nullptr) refuse(kInvalidValue, "the result has nowhere to go");
    answer_range(process, where, size, attribute, address_of(begin));
  });
}
