#include "standin/state/virtual_memory.h"

#include <utility>

namespace polypath::standin {
namespace {

void check_size(Bytes size) {
  if (size.value == 0 || size.value % VirtualMemory::kGranularity != 0)
    refuse(kInvalidValue, "the size is no multiple of the granularity");
}

}  // namespace

std::uint64_t VirtualMemory::create(int ordinal, Bytes size) {
  check_size(size);
  physical_[++last_] = {ordinal, size, Segment::create(size)};
  return last_;
}

const VirtualMemory::Physical& VirtualMemory::find(std::uint64_t handle) const {
  const auto found = physical_.find(handle);
  if (found == physical_.end() || found->second.released)
    refuse(kInvalidValue, "the handle is none, or no more");
  return found->second;
}

void VirtualMemory::release(std::uint64_t handle) {
  (void)find(handle);
  physical_[handle].released = true;
  give_up_if_unused(handle);
}

void VirtualMemory::give_up_if_unused(std::uint64_t handle) {
  const Physical& memory = physical_.at(handle);
  if (memory.released && memory.mappings == 0) physical_.erase(handle);
}

Address VirtualMemory::reserve(Bytes size) {
  check_size(size);
  const Address begin = allocations_.reserve(size);
  reserved_[begin] = size;
  return begin;
}

void VirtualMemory::free_address(Address begin, Bytes size) {
  const auto found = reserved_.find(begin);
  if (found == reserved_.end() || found->second != size || mapped_.contains(begin))
    refuse(kInvalidValue, "the addresses are not reserved, or in use");
  allocations_.give_back(begin, size);
  reserved_.erase(found);
}

void VirtualMemory::map(Address begin, Bytes size, std::uint64_t handle, PlaceId gpu) {
  const Physical& memory = find(handle);
  const auto reserved = reserved_.find(begin);
  if (reserved == reserved_.end() || reserved->second != size || memory.size != size ||
      mapped_.contains(begin))
    refuse(kInvalidValue, "memory is mapped as a whole, at addresses reserved for it");
  Allocation mapped;
  mapped.origin = MemoryOrigin::mapped;
  mapped.base = begin, mapped.size = size;
  mapped.ordinal = memory.ordinal;
  mapped.segment = memory.segment;
  allocations_.add_mapped(gpu, std::move(mapped));
  ++physical_[handle].mappings;
  mapped_[begin] = handle;
}

Allocation& VirtualMemory::mapped_at(Address begin, Bytes size) {
  const auto found = mapped_.find(begin);
  if (found == mapped_.end() || reserved_.at(begin) != size)
    refuse(kInvalidValue, "nothing is mapped there");
  return allocations_.get(begin);
}

void VirtualMemory::unmap(Address begin, Bytes size) {
  (void)mapped_at(begin, size);
  allocations_.remove(begin, MemoryOrigin::mapped, kInvalidValue);
  const std::uint64_t handle = mapped_.extract(begin).mapped();
  --physical_[handle].mappings;
  give_up_if_unused(handle);
}

void VirtualMemory::open(Address begin, Bytes size, int ordinal) {
  mapped_at(begin, size).users.insert(ordinal);
}

Bytes VirtualMemory::used(int ordinal) const {
  Bytes used;
  for (const auto& [handle, memory] : physical_)
    if (memory.ordinal == ordinal) used += memory.size;
  return used;
}

}  // namespace polypath::standin
