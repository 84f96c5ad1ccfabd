#include "driver/cuda/opened_memory.h"

#include <algorithm>
#include <array>
#include <atomic>

namespace polypath::cuda {
namespace {

constexpr int kToRead = 1, kToWrite = 3;  // CU_MEM_ACCESS_FLAGS

std::atomic<bool> imports_from_fabrics{false};

bool may_be_elsewhere(std::uint64_t handle_types) {
  return (handle_types & kFabricHandles) != 0 && imports_from_fabrics.load();
}

}  // namespace

void OpenedMemory::note_fabric_import() noexcept { imports_from_fabrics.store(true); }

struct OpenedMemory::Part {
  Device owner = -1;
  void* pool = nullptr;
  DevicePointer begin = 0;
  std::size_t size = 0;
};

// One call for all attributes. What is asked of a reservation is answered for all of it, mapped or
// not; a mapping says where it begins and ends itself.
std::optional<OpenedMemory::Part> OpenedMemory::part_at(DevicePointer address) {
  Part part;
  unsigned type = 0;
  DevicePointer mapping = 0;
  std::size_t mapped = 0;
  std::uint64_t handles = 0;
  std::array<int, 8> which = {kPointerMemoryType,  kPointerDeviceOrdinal, kPointerPool,
                              kPointerRangeStart,  kPointerRangeSize,     kPointerMappingStart,
                              kPointerMappingSize, kPointerHandleTypes};
  std::array<void*, 8> data = {&type,       &part.owner, static_cast<void*>(&part.pool),
                               &part.begin, &part.size,  &mapping,
                               &mapped,     &handles};
  if (functions().pointer_attributes(8, which.data(), data.data(), address) != kSuccess)
    return std::nullopt;
  if (part.pool == nullptr) part.begin = mapping, part.size = mapped;
  const bool there = type == kMemoryDevice && part.owner >= 0 && part.begin <= address &&
                     address - part.begin < part.size;
  return there && !may_be_elsewhere(handles) ? std::optional(part) : std::nullopt;
}

// False if it is of another GPU or pool than the parts before.
bool OpenedMemory::add(const Part& part) {
  if (parts_.empty()) owner_ = part.owner, pool_ = part.pool;
  parts_.push_back(part.begin);
  return part.owner == owner_ && part.pool == pool_ && (pool_ == nullptr || parts_.size() == 1);
}

std::optional<OpenedMemory> OpenedMemory::find(Address begin, Bytes bytes) {
  OpenedMemory found;
  const DevicePointer end = begin.value + bytes.value;
  for (DevicePointer at = begin.value; at < end;) {
    const auto part = part_at(at);
    if (!part || !found.add(*part)) return std::nullopt;
    at = part->begin + part->size;
  }
  return found.parts_.empty() ? std::nullopt : std::optional(std::move(found));
}

int OpenedMemory::access_of(Device gpu, DevicePointer part) const {
  const Functions& cuda = functions();
  MemoryLocation location;
  location.id = gpu;
  if (pool_ != nullptr) {
    int flags = 0;
    const bool known =
        cuda.pool_access != nullptr && cuda.pool_access(&flags, pool_, &location) == kSuccess;
    return known ? flags : 0;
  }
  unsigned long long flags = 0;
  const bool known =
      cuda.memory_access != nullptr && cuda.memory_access(&flags, &location, part) == kSuccess;
  return known ? static_cast<int>(flags) : 0;
}

// A pool is always open to its own GPU.
bool OpenedMemory::is_open_to(Device gpu, Use use) const {
  if (pool_ != nullptr && gpu == owner_) return true;
  const int wanted = use == Use::write ? kToWrite : kToRead;
  return std::all_of(parts_.begin(), parts_.end(),
                     [&](DevicePointer part) { return (access_of(gpu, part) & wanted) == wanted; });
}

}  // namespace polypath::cuda
