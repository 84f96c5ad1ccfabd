// Ordinary memory of the program that the simulated driver has been told of, and native copies of
// it: like CUDA's they first wait for the stream, and are complete when the call returns.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "driver/sim/sim_driver.h"

namespace polypath::sim {
namespace {

PlaceId first_host(const Machine& machine) {
  const auto hosts = machine.places_of(PlaceKind::host);
  if (!hosts.empty()) return hosts.front();
  fail(ErrorCode::invalid_argument, "pageable memory cannot be added",
       "the machine has no host that it could belong to");
}

bool is_pageable(const MemoryInfo& memory) { return memory.kind == MemoryKind::pageable; }

void check_left(const MemoryInfo& memory, Address begin, Bytes bytes, const char* what) {
  const std::uint64_t left = memory.base.value + memory.size.value - begin.value;
  if (bytes.value > left)
    fail(ErrorCode::invalid_argument, fmt::format("{} range is too long", what),
         fmt::format("{} bytes are left in its memory, not {}", left, bytes.value),
         "Correct the size or the offset.");
}

}  // namespace

void SimDriver::add_pageable(Address address, Bytes bytes) {
  const std::scoped_lock lock(mutex_);
  (void)first_host(machine_);
  pageable_[address.value] = bytes;
}

void SimDriver::remove_pageable(Address address) {
  const std::scoped_lock lock(mutex_);
  pageable_.erase(address.value);
}

std::uint64_t SimDriver::memory_id(Address address) {
  const std::scoped_lock lock(mutex_);
  const BlockPointer block = memory_.find(address);
  return block ? block->id() : 0;
}

std::optional<MemoryInfo> SimDriver::find_memory(Address address) {
  const std::scoped_lock lock(mutex_);
  return memory_at(address);
}

std::optional<MemoryInfo> SimDriver::memory_at(Address address) const {
  if (const BlockPointer block = memory_.find(address)) {
    MemoryInfo info = block->info();
    const bool gpu = machine_.place(info.place).kind == PlaceKind::gpu;
    info.kind = gpu ? MemoryKind::device : MemoryKind::pinned;
    return info;
  }
  const auto after = pageable_.upper_bound(address.value);
  if (after == pageable_.begin()) return std::nullopt;
  const auto& [base, bytes] = *std::prev(after);
  const Bytes before{address.value - base};
  if (before >= bytes) return std::nullopt;
  return MemoryInfo{first_host(machine_), address, bytes - before, MemoryKind::pageable};
}

void SimDriver::copy_native(const NativeCopy& request, StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  const auto known = [&](Address address, const char* what) {
    if (const auto memory = memory_at(address)) return *memory;
    fail(ErrorCode::invalid_argument,
         fmt::format("{} 0x{:x} is in no live allocation", what, address.value),
         "it was never allocated here, or has been freed",
         "Pass an address that allocate returned.");
  };
  const MemoryInfo to = known(request.destination, "destination");
  const MemoryInfo from = known(request.source, "source");
  const CopyRequest copy = with_places(request, to.place, from.place);
  if (is_pageable(to) || is_pageable(from)) copy_pageable(copy, to, from, stream_of(stream));
  else enqueue_copy(copy, stream_of(stream));
}

void SimDriver::copy_pageable(const CopyRequest& request, const MemoryInfo& to,
                              const MemoryInfo& from, Stream& stream) {
  if (request.bytes.value == 0)
    fail(ErrorCode::invalid_argument, "a copy of 0 bytes", "there is nothing to copy");
  check_left(to, request.destination, request.bytes, "destination");
  check_left(from, request.source, request.bytes, "source");
  count(Call::copy);
  spend(costs_.copy);
  if (stream.tail) play_until(*stream.tail, "work before a native copy,", request.source.value);
  step(request, stream.thread);
  races_.join_host(races_.clock(stream.thread));
  const bool inward = machine_.place(to.place).kind == PlaceKind::gpu;
  const DriverBehaviour& driver = machine_.driver;
  spend(request.bytes / (inward ? driver.pageable_in : driver.pageable_out));
  fluid_.advance_to(meet_nodes());
  if (options_.move_bytes)
    std::memmove(bytes_at(request.destination), bytes_at(request.source), request.bytes.value);
}

}  // namespace polypath::sim
