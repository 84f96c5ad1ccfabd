#include "driver/cuda/mapped_memory.h"

namespace polypath::cuda {

std::unique_ptr<MappedMemory> MappedMemory::make(Bytes bytes, Device owner,
                                                 const std::vector<Device>& users) {
  const Functions& cuda = Library::get().functions;
  int supported = 0;
  if (cuda.device_attribute(&supported, kDeviceVirtualMemory, owner) != kSuccess || supported == 0)
    return nullptr;
  MemoryProperties wanted;
  wanted.location.id = owner;
  std::size_t unit = 0;
  check(cuda.memory_granularity(&unit, &wanted, 0), "cuMemGetAllocationGranularity");
  std::unique_ptr<MappedMemory> memory(new MappedMemory);
  memory->size_ = (bytes.value + unit - 1) / unit * unit;
  check(cuda.memory_create(&memory->memory_, memory->size_, &wanted, 0), "cuMemCreate");
  memory->made_ = true;
  memory->fill(owner, users);
  return memory;
}

// What fails halfway is taken back by the destructor.
void MappedMemory::fill(Device owner, const std::vector<Device>& users) {
  const Functions& cuda = Library::get().functions;
  check(cuda.address_reserve(&base_, size_, 0, 0, 0), "cuMemAddressReserve");
  check(cuda.memory_map(base_, size_, 0, memory_, 0), "cuMemMap");
  mapped_ = true;
  std::vector<MemoryUser> all(1 + users.size());
  all.front().location.id = owner;
  for (std::size_t i = 0; i < users.size(); ++i) all[i + 1].location.id = users[i];
  check(cuda.memory_open(base_, size_, all.data(), all.size()), "cuMemSetAccess");
}

MappedMemory::~MappedMemory() {
  const Functions& cuda = Library::get().functions;
  if (mapped_) cuda.memory_unmap(base_, size_);
  if (base_ != 0) cuda.address_free(base_, size_);
  if (made_) cuda.memory_release(memory_);
}

}  // namespace polypath::cuda
