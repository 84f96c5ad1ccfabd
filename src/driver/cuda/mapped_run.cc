#include "driver/cuda/mapped_run.h"

namespace polypath::cuda {

MemoryReference::~MemoryReference() {
  if (handle_ != 0) functions().memory_release(handle_);
}

MappedRun::MappedRun(const std::vector<MemoryReference>& memories,
                     const std::vector<Device>& users) {
  for (const MemoryReference& memory : memories) size_ += memory.size();
  check(functions().address_reserve(&base_, size_.value, 0, 0, 0), "cuMemAddressReserve");
  try {
    map(memories);
    std::vector<MemoryUser> all(users.size());
    for (std::size_t i = 0; i < users.size(); ++i) all[i].location.id = users[i];
    check(functions().memory_open(base_, size_.value, all.data(), all.size()), "cuMemSetAccess");
  } catch (...) {
    give_back();
    throw;
  }
}

MappedRun::~MappedRun() { give_back(); }

void MappedRun::map(const std::vector<MemoryReference>& memories) {
  for (const MemoryReference& memory : memories) {
    const std::uint64_t size = memory.size().value;
    check(functions().memory_map(base_ + mapped_.value, size, 0, memory.handle(), 0), "cuMemMap");
    mapped_ += memory.size();
  }
}

void MappedRun::give_back() const {
  if (mapped_.value > 0) functions().memory_unmap(base_, mapped_.value);
  functions().address_free(base_, size_.value);
}

}  // namespace polypath::cuda
