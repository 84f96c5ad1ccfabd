#include "driver/cuda/mapping_imports.h"

#include <array>
#include <mutex>
#include <optional>

#include "core/error.h"

namespace polypath::cuda {
namespace {

// 20 MiB each in PyTorch's expandable segments. Each takes a file, of which a process has 1024 by
// default, and 87 us (results/h200x1/mappings.json).
constexpr std::size_t kMostMappings = 256;

struct Mapping {
  MemoryPart part;
  int owner = -1;
};

// One call for all attributes.
std::optional<Mapping> mapping_at(DevicePointer address) {
  unsigned type = 0;
  int owner = -1;
  void* pool = nullptr;
  DevicePointer begin = 0;
  std::size_t size = 0;
  std::uint64_t handles = 0, id = 0;
  std::array<int, 7> which = {kPointerMemoryType,   kPointerDeviceOrdinal, kPointerPool,
                              kPointerMappingStart, kPointerMappingSize,   kPointerHandleTypes,
                              kPointerBufferId};
  std::array<void*, 7> data = {&type,    &owner, static_cast<void*>(&pool), &begin, &size,
                               &handles, &id};
  if (functions().pointer_attributes(7, which.data(), data.data(), address) != kSuccess)
    return std::nullopt;
  const bool is_there =
      type == kMemoryDevice && owner >= 0 && begin <= address && address - begin < size && id != 0;
  if (!is_there || pool != nullptr || (handles & kFileHandles) == 0) return std::nullopt;
  return Mapping{{{static_cast<std::uintptr_t>(begin)}, {size}, id}, owner};
}

}  // namespace

std::vector<MemoryPart> mappings_of(Address begin, Bytes bytes) {
  if (functions().memory_retain == nullptr || functions().memory_export == nullptr) return {};
  std::vector<MemoryPart> parts;
  std::optional<int> owner;
  for (Address at = begin; at < begin + bytes; at = parts.back().base + parts.back().size) {
    const auto mapping = mapping_at(at.value);
    if (!mapping || parts.size() == kMostMappings) return {};
    if (owner.value_or(mapping->owner) != mapping->owner) return {};
    if (!parts.empty() && parts.front().size != mapping->part.size) return {};
    owner = mapping->owner;
    parts.push_back(mapping->part);
  }
  return parts;
}

std::vector<Device> MappingImports::users(int gpu, int owner) const {
  std::vector<Device> users{gpu};
  for (int other = 0; owner >= 0 && gpus_.place_of(other).valid(); ++other) {
    int reaches = other == owner ? 1 : 0;
    if (other != owner) functions().device_can_access(&reaches, other, owner);
    if (reaches != 0 && other != gpu) users.push_back(other);
  }
  return users;
}

Address MappingImports::import(const ExportedMappings& shared, int gpu, int owner) {
  std::vector<MemoryReference> memories;
  const auto self = this_process();
  if (self && *self == shared.exporter)
    memories = MappingExports::of_process().references(shared.offer.number);
  else
    memories = import_files(fetch_files(shared.offer.server, shared.offer.number, shared.count),
                            {shared.each});
  if (memories.empty())
    fail(ErrorCode::driver, "memory of another process cannot be mapped",
         "it is not there any more, or the process does not answer");
  auto run = std::make_unique<MappedRun>(memories, users(gpu, owner));
  const Address base{static_cast<std::uintptr_t>(run->base())};
  const std::scoped_lock lock(mutex_);
  mapped_[base] = std::move(run);
  return base;
}

bool MappingImports::release(Address base) {
  std::unique_lock lock(mutex_);
  const auto run = mapped_.extract(base);
  lock.unlock();
  return !run.empty();
}

}  // namespace polypath::cuda
