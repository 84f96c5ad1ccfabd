#include "driver/cuda/mapped_memory.h"

namespace polypath::cuda {

std::unique_ptr<MappedMemory> MappedMemory::make(Bytes bytes, Device owner,
                                                 const std::vector<Device>& users) {
  const Functions& cuda = DriverLibrary::get().functions;
  int supported = 0;
  if (cuda.device_attribute(&supported, kDeviceVirtualMemory, owner) != kSuccess || supported == 0)
    return nullptr;
  MemoryProperties wanted;
  wanted.location.id = owner;
  std::size_t unit = 0;
  if (cuda.memory_granularity(&unit, &wanted, 0) != kSuccess || unit == 0) return nullptr;
  std::unique_ptr<MappedMemory> memory(new MappedMemory);
  memory->size_ = (bytes.value + unit - 1) / unit * unit;
  const Result made = cuda.memory_create(&memory->memory_, memory->size_, &wanted, 0);
  if (made == kOutOfMemory) check(made, "cuMemCreate");
  if (made != kSuccess) return nullptr;
  memory->made_ = true;
  return memory->map(owner, users) ? std::move(memory) : nullptr;
}

// The destructor takes back a mapping that fails halfway.
bool MappedMemory::map(Device owner, const std::vector<Device>& users) {
  const Functions& cuda = DriverLibrary::get().functions;
  if (cuda.address_reserve(&base_, size_, 0, 0, 0) != kSuccess) return false;
  mapped_ = cuda.memory_map(base_, size_, 0, memory_, 0) == kSuccess;
  if (!mapped_) return false;
  std::vector<MemoryUser> all(1 + users.size());
  all.front().location.id = owner;
  for (std::size_t i = 0; i < users.size(); ++i) all[i + 1].location.id = users[i];
  return cuda.memory_open(base_, size_, all.data(), all.size()) == kSuccess;
}

MappedMemory::~MappedMemory() {
  const Functions& cuda = DriverLibrary::get().functions;
  if (mapped_) cuda.memory_unmap(base_, size_);
  if (base_ != 0) cuda.address_free(base_, size_);
  if (made_) cuda.memory_release(memory_);
}

}  // namespace polypath::cuda
