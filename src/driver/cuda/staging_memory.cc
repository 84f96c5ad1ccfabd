#include "driver/cuda/staging_memory.h"

#include <algorithm>
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

std::optional<std::vector<Device>> StagingMemory::others(PlaceId place,
                                                         const StagingUsers& users) const {
  std::vector<Device> others;
  for (const PlaceId user : {users.writer, users.reader}) {
    if (!gpus_.is_gpu(user) || user == place) continue;
    const Device gpu = gpus_.ordinal(user);
    if (!peers_.reaches(gpu, gpus_.ordinal(place))) return std::nullopt;
    if (std::find(others.begin(), others.end(), gpu) == others.end()) others.push_back(gpu);
  }
  return others;
}

std::optional<Address> StagingMemory::map(PlaceId place, const StagingUsers& users, Bytes bytes) {
  if (!gpus_.is_gpu(place)) return std::nullopt;
  const RelaxedCapture relaxed;
  const auto opened_to = others(place, users);
  if (!opened_to) return std::nullopt;
  auto memory = MappedMemory::make(bytes, gpus_.ordinal(place), *opened_to);
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
