#include "driver/cuda/staging_memory.h"

#include <mutex>

#include "driver/cuda/contexts.h"

namespace polypath::cuda {

std::optional<Address> StagingMemory::take_spare(PlaceId place, Bytes bytes) {
  const std::scoped_lock lock(mutex_);
  const auto found = spare_.find({place, bytes});
  if (found == spare_.end()) return std::nullopt;
  const Address address = found->second;
  spare_.erase(found);
  return address;
}

std::optional<Address> StagingMemory::map(PlaceId place, PlaceId writer, Bytes bytes) {
  if (!gpus_.is_gpu(place)) return std::nullopt;
  const RelaxedCapture relaxed;
  std::vector<Device> users;
  if (gpus_.is_gpu(writer) && writer != place) {
    if (!peers_.reaches(gpus_.ordinal(writer), gpus_.ordinal(place))) return std::nullopt;
    users.push_back(gpus_.ordinal(writer));
  }
  auto memory = MappedMemory::make(bytes, gpus_.ordinal(place), users);
  if (!memory) return std::nullopt;
  const Address address{static_cast<std::uintptr_t>(memory->base())};
  const std::scoped_lock lock(mutex_);
  mapped_[address] = std::move(memory);
  return address;
}

void StagingMemory::add(Address address, Bytes bytes) {
  const std::scoped_lock lock(mutex_);
  others_[address] = bytes;
}

bool StagingMemory::give_back(Address address, PlaceId place) {
  const std::scoped_lock lock(mutex_);
  if (mapped_.erase(address) > 0) return true;
  const auto kept = others_.find(address);
  if (kept == others_.end()) return false;
  spare_.emplace(std::pair{place, kept->second}, address);
  return true;
}

std::vector<std::pair<Address, PlaceId>> StagingMemory::release_spare() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::pair<Address, PlaceId>> released;
  for (const auto& [kind, address] : spare_) released.emplace_back(address, kind.first);
  spare_.clear();
  others_.clear();
  return released;
}

}  // namespace polypath::cuda
