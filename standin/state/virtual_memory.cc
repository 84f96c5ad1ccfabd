#include "standin/state/virtual_memory.h"

#include <utility>

namespace polypath::standin {
namespace {

void check_size(Bytes size) {
  if (size.value == 0 || size.value % VirtualMemory::kGranularity != 0)
    refuse(kInvalidValue, "the size is no multiple of the granularity");
}

}  // namespace

std::uint64_t VirtualMemory::create(int ordinal, Bytes size, int handle_types) {
  check_size(size);
  physical_[++last_] = {ordinal, size, handle_types, Segment::create(size)};
  return last_;
}

std::uint64_t VirtualMemory::import(std::uint64_t handle) {
  Physical imported = find(handle);
  imported.mappings = 0, imported.imported = true;
  physical_[++last_] = std::move(imported);
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
  if (found == reserved_.end() || found->second != size || allocations_.overlaps(begin, size))
    refuse(kInvalidValue, "the addresses are not reserved, or in use");
  allocations_.give_back(begin, size);
  reserved_.erase(found);
}

void VirtualMemory::map(Address begin, Bytes size, std::uint64_t handle, PlaceId gpu) {
  const Physical& memory = find(handle);
  const auto after = reserved_.upper_bound(begin);
  if (after == reserved_.begin() || memory.size != size)
    refuse(kInvalidValue, "memory is mapped as a whole, at addresses that were reserved");
  const auto& [reserved, reserved_size] = *std::prev(after);
  if (begin + size > reserved + reserved_size || allocations_.overlaps(begin, size))
    refuse(kInvalidValue, "the addresses are not reserved, or taken");
  Allocation mapped;
  mapped.origin = MemoryOrigin::mapped;
  mapped.base = begin, mapped.size = size;
  mapped.reserved = reserved, mapped.reserved_size = reserved_size;
  mapped.ordinal = memory.ordinal;
  mapped.segment = memory.segment;
  mapped.handle_types = memory.handle_types;
  mapped.access = std::make_shared<GpuAccess>();
  allocations_.add_mapped(gpu, std::move(mapped));
  ++physical_[handle].mappings;
  mapped_[begin] = handle;
}

std::vector<Address> VirtualMemory::mappings_in(Address begin, Bytes size) {
  std::vector<Address> found;
  const Address end = begin + size;
  for (Address at = begin; at < end; at = at + allocations_.get(at).size) {
    if (!mapped_.contains(at)) refuse(kInvalidValue, "no mapping begins there");
    if (at + allocations_.get(at).size > end) refuse(kInvalidValue, "a mapping ends beyond that");
    found.push_back(at);
  }
  if (found.empty()) refuse(kInvalidValue, "nothing is mapped there");
  return found;
}

void VirtualMemory::unmap_one(Address begin) {
  allocations_.remove(begin, MemoryOrigin::mapped, kInvalidValue);
  const std::uint64_t handle = mapped_.extract(begin).mapped();
  --physical_[handle].mappings;
  give_up_if_unused(handle);
}

void VirtualMemory::unmap(Address begin, Bytes size) {
  for (const Address mapping : mappings_in(begin, size)) unmap_one(mapping);
}

void VirtualMemory::open(Address begin, Bytes size, int ordinal, int access) {
  for (const Address mapping : mappings_in(begin, size))
    (*allocations_.get(mapping).access)[ordinal] = access;
}

Bytes VirtualMemory::used(int ordinal) const {
  Bytes used;
  for (const auto& [handle, memory] : physical_)
    if (memory.ordinal == ordinal && !memory.imported) used += memory.size;
  return used;
}

}  // namespace polypath::standin
