#include "standin/state/virtual_memory.h"

#include <cstring>
#include <utility>

namespace polypath::standin {
namespace {

void check_size(Bytes size) {
  if (size.value == 0 || size.value % VirtualMemory::kGranularity != 0)
    refuse(kInvalidValue, "the size is no multiple of the granularity");
}

}  // namespace

// Memory that may be handed out says behind its bytes whose it is.
std::uint64_t VirtualMemory::create(int ordinal, const Uuid& gpu, Bytes size, int handle_types) {
  check_size(size);
  const bool by_file = (static_cast<unsigned>(handle_types) & cuda::kFileHandles) != 0;
  auto segment = Segment::create(by_file ? size + Bytes{gpu.size()} : size);
  if (by_file) std::memcpy(segment->bytes() + size.value, gpu.data(), gpu.size());
  physical_[++last_] = {ordinal, size, handle_types, std::move(segment)};
  return last_;
}

std::uint64_t VirtualMemory::import(std::uint64_t handle) {
  Physical imported = find(handle);
  imported.mappings = 0, imported.references = 1, imported.imported = true;
  physical_[++last_] = std::move(imported);
  return last_;
}

int VirtualMemory::file_of(std::uint64_t handle) const {
  const Physical& memory = find(handle);
  if ((static_cast<unsigned>(memory.handle_types) & cuda::kFileHandles) == 0)
    refuse(kInvalidValue, "the memory was not made to be shared so");
  const int file = memory.segment->duplicate_file();
  if (file < 0) refuse(kOutOfMemory, "the process has no descriptor left");
  return file;
}

namespace {

std::shared_ptr<Segment> segment_of(int file) {
  auto segment = Segment::of_file(file);
  if (!segment || segment->name().size % VirtualMemory::kGranularity != sizeof(VirtualMemory::Uuid))
    refuse(kInvalidValue, "that is no file of a GPU's memory");
  return segment;
}

}  // namespace

VirtualMemory::Uuid VirtualMemory::gpu_of_file(int file) {
  const auto segment = segment_of(file);
  Uuid gpu;
  std::memcpy(gpu.data(), segment->bytes() + segment->name().size - gpu.size(), gpu.size());
  return gpu;
}

std::uint64_t VirtualMemory::import_file(int file, int ordinal) {
  auto segment = segment_of(file);
  const Bytes size{segment->name().size - sizeof(Uuid)};
  physical_[++last_] = {ordinal, size, 0, std::move(segment)};
  physical_[last_].imported = true;
  return last_;
}

const VirtualMemory::Physical& VirtualMemory::find(std::uint64_t handle) const {
  const auto found = physical_.find(handle);
  if (found == physical_.end() || found->second.references == 0)
    refuse(kInvalidValue, "the handle is none, or no more");
  return found->second;
}

std::uint64_t VirtualMemory::retain(Address address) {
  const Allocation& memory = allocations_.get(address);
  if (memory.origin != MemoryOrigin::mapped) refuse(kInvalidValue, "no memory is mapped there");
  const std::uint64_t handle = mapped_.at(memory.base);
  ++physical_[handle].references;
  return handle;
}

void VirtualMemory::release(std::uint64_t handle) {
  (void)find(handle);
  --physical_[handle].references;
  give_up_if_unused(handle);
}

void VirtualMemory::give_up_if_unused(std::uint64_t handle) {
  const Physical& memory = physical_.at(handle);
  if (memory.references == 0 && memory.mappings == 0) physical_.erase(handle);
}

Address VirtualMemory::reserve(Bytes size) {
  check_size(size);
  auto window = std::make_shared<Window>(size);
  const Address begin = allocations_.reserve(size);
  reserved_[begin] = {size, std::move(window)};
  return begin;
}

void VirtualMemory::free_address(Address begin, Bytes size) {
  const auto found = reserved_.find(begin);
  if (found == reserved_.end() || found->second.size != size || allocations_.overlaps(begin, size))
    refuse(kInvalidValue, "the addresses are not reserved, or in use");
  allocations_.give_back(begin, size);
  reserved_.erase(found);
}

void VirtualMemory::map(Address begin, Bytes size, std::uint64_t handle, PlaceId gpu) {
  const Physical& memory = find(handle);
  const auto after = reserved_.upper_bound(begin);
  if (after == reserved_.begin() || memory.size != size)
    refuse(kInvalidValue, "memory is mapped as a whole, at addresses that were reserved");
  const auto& [reserved, reservation] = *std::prev(after);
  if (begin + size > reserved + reservation.size || allocations_.overlaps(begin, size))
    refuse(kInvalidValue, "the addresses are not reserved, or taken");
  Allocation mapped;
  mapped.origin = MemoryOrigin::mapped;
  mapped.base = begin, mapped.size = size;
  mapped.reserved = reserved, mapped.reserved_size = reservation.size;
  mapped.ordinal = memory.ordinal;
  mapped.segment = memory.segment;
  mapped.handle_types = memory.handle_types;
  mapped.access = std::make_shared<GpuAccess>();
  allocations_.add_mapped(gpu, std::move(mapped), reservation.window);
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
  const Physical& memory = physical_.at(mapped_.at(begin));
  allocations_.get(begin).lives_on =
      memory.imported || memory.references > 0 || memory.mappings > 1;
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
