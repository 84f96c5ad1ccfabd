#include "driver/sim/sim_sharing.h"

#include <fmt/format.h>

#include <cstring>

#include "core/error.h"

namespace polypath::sim {

ExportedMemory SimSharing::export_memory(Address address) {
  const BlockPointer block = memory_.block_at(address);
  if (!block)
    fail(ErrorCode::invalid_argument, fmt::format("0x{:x} cannot be shared", address.value),
         "it is in no live allocation", "Pass an address that allocate returned.");
  simulation_.count(Call::export_memory);
  ExportedMemory memory(sizeof address.value);
  std::memcpy(memory.data(), &address.value, memory.size());
  return memory;
}

Address SimSharing::import_memory(const ExportedMemory& memory, PlaceId gpu) {
  simulation_.check_gpu(gpu);
  Address address;
  if (memory.size() == sizeof address.value)
    std::memcpy(&address.value, memory.data(), memory.size());
  if (!memory_.block_at(address))
    fail(ErrorCode::invalid_argument, "memory cannot be imported",
         "these bytes name no live allocation", "Pass what export_memory returned.");
  simulation_.count(Call::import_memory);
  ++imports_[address];
  return address;
}

void SimSharing::release_import(Address address) {
  const auto found = imports_.find(address);
  if (found == imports_.end())
    fail(ErrorCode::invalid_argument, fmt::format("0x{:x} cannot be given back", address.value),
         "import_memory did not return it, or it was given back", "Give each import back once.");
  simulation_.count(Call::release_import);
  if (--found->second == 0) imports_.erase(found);
}

}  // namespace polypath::sim
