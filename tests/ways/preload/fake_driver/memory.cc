// What the fake driver says of memory and of its GPUs.

#include "ways/preload/fake_driver/memory.h"

#include "driver/cuda/cuda_api.h"

using namespace polypath::cuda;
using polypath::preload::FakeMemory;

namespace {

std::vector<FakeMemory> all;

const FakeMemory* at(DevicePointer address) {
  for (const FakeMemory& memory : all)
    if (address >= memory.base && address < memory.base + memory.size) return &memory;
  return nullptr;
}

void tell(const FakeMemory& memory, int attribute, void* data) {
  switch (attribute) {
    case kPointerRangeStart: *static_cast<DevicePointer*>(data) = memory.base; break;
    case kPointerRangeSize: *static_cast<std::size_t*>(data) = memory.size; break;
    case kPointerBufferId: *static_cast<unsigned long long*>(data) = memory.buffer_id; break;
    case kPointerDeviceOrdinal: *static_cast<int*>(data) = memory.gpu; break;
    default: break;
  }
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT std::vector<FakeMemory>* fake_memory() { return &all; }

// As CUDA: of what it does not know it says nothing, and is content.
EXPORT Result cuPointerGetAttributes(unsigned count, int* which, void** data,
                                     DevicePointer address) {
  const FakeMemory* memory = at(address);
  for (unsigned i = 0; memory != nullptr && i < count; ++i) tell(*memory, which[i], data[i]);
  return kSuccess;
}

EXPORT Result cuDeviceGetUuid_v2(GpuUuid* uuid, Device gpu) {
  *uuid = {};
  uuid->bytes[0] = static_cast<unsigned char>(gpu + 1);
  return kSuccess;
}
