#include "driver/sim/sim_memory.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace polypath::sim {
namespace {

Address address_of(const std::byte* bytes) { return {reinterpret_cast<std::uintptr_t>(bytes)}; }

PlaceId first_host(const Machine& machine) {
  const auto hosts = machine.places_of(PlaceKind::host);
  if (!hosts.empty()) return hosts.front();
  fail(ErrorCode::invalid_argument, "pageable memory cannot be added",
       "the machine has no host that it could belong to");
}

}  // namespace

SimMemory::SimMemory(Simulation& simulation, Mailboxes& mailboxes)
    : simulation_(simulation), mailboxes_(mailboxes), blocks_(simulation.options.move_bytes) {}

Address SimMemory::allocate(PlaceId place, Bytes bytes) {
  simulation_.check_place(place);
  if (bytes.value == 0)
    fail(ErrorCode::invalid_argument,
         fmt::format("0 bytes cannot be allocated at {}", simulation_.machine.place(place).name),
         "a size is at least 1", "Correct it.");
  simulation_.count(Call::allocate);
  return blocks_.allocate(place, bytes);
}

Address SimMemory::adopt(PlaceId place, Bytes bytes, std::unique_ptr<Backing> backing) {
  simulation_.check_place(place);
  return blocks_.adopt(place, bytes, std::move(backing));
}

void SimMemory::free(Address address) {
  const BlockPointer block = blocks_.remove(address);
  if (!block)
    fail(ErrorCode::invalid_argument, fmt::format("allocation {} does not exist", address.value),
         "it was never created here, or has been destroyed", "Pass one that is alive.");
  const MemoryInfo info = block->info();
  const Region region{address_of(block->bytes_at(info.base)), info.size, info.base};
  if (simulation_.options.check_races && simulation_.races.in_use(region))
    simulation_.findings.report(
        fmt::format("use after free: {} at {} freed while queued work uses it",
                    describe_bytes(info.size), simulation_.machine.place(info.place).name));
  simulation_.races.forget(region);
  simulation_.count(Call::free);
  mailboxes_.forget(address, *block);
}

void SimMemory::add_pageable(Address address, Bytes bytes) {
  (void)first_host(simulation_.machine);
  pageable_[address.value] = bytes;
}

void SimMemory::remove_pageable(Address address) { pageable_.erase(address.value); }

std::optional<MemoryInfo> SimMemory::find_memory(Address address) const {
  if (const BlockPointer block = blocks_.find(address)) {
    MemoryInfo info = block->info();
    const bool gpu = simulation_.machine.place(info.place).kind == PlaceKind::gpu;
    info.kind = gpu ? MemoryKind::device : MemoryKind::pinned;
    return info;
  }
  const auto after = pageable_.upper_bound(address.value);
  if (after == pageable_.begin()) return std::nullopt;
  const auto& [base, bytes] = *std::prev(after);
  const Bytes before{address.value - base};
  if (before >= bytes) return std::nullopt;
  return MemoryInfo{first_host(simulation_.machine), address, bytes - before, MemoryKind::pageable};
}

std::vector<std::string> SimMemory::leaks() const {
  std::vector<std::string> leaks;
  for (const auto& [address, block] : blocks_.blocks())
    leaks.push_back(fmt::format("{} bytes at {}", block->info().size.value,
                                simulation_.machine.place(block->info().place).name));
  return leaks;
}

// By where the bytes are: the same ones may be known by several addresses.
Touch SimMemory::touch(Address begin, Bytes bytes, bool writes) const {
  const BlockPointer block = blocks_.find(begin);
  const Address base = block ? block->info().base : Address{};
  return {{address_of(bytes_at(begin)), bytes, base}, writes};
}

// Ordinary memory of the program is where it says.
std::byte* SimMemory::bytes_at(Address address) const {
  const BlockPointer block = blocks_.find(address);
  return block ? block->bytes_at(address) : reinterpret_cast<std::byte*>(address.value);
}

}  // namespace polypath::sim
