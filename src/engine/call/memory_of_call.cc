#include "engine/call/memory_of_call.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace polypath::engine {
namespace {

[[noreturn]] void fail_argument(const std::string& problem, const std::string& why,
                                const std::string& remedy) {
  fail(ErrorCode::invalid_argument, problem, why, remedy);
}

// True of an allocation that the address lies in, if it stays where it is.
bool holds(const std::optional<SeenBefore::Memory>& seen, Address address) {
  if (!seen) return false;
  const MemoryInfo& memory = seen->info;
  return (memory.kind == MemoryKind::device || memory.kind == MemoryKind::pinned) &&
         memory.base <= address && address < memory.base + memory.size;
}

// Memory that peers may reach is what kernels of its own GPU may use from another context, too.
std::optional<SeenBefore::Memory> look_at(Driver& driver, Address address) {
  const auto memory = driver.find_memory(address);
  if (!memory) return std::nullopt;
  const bool device = memory->kind == MemoryKind::device;
  const bool closed = device && !driver.kernels_reach(memory->place, address);
  return SeenBefore::Memory{*memory, closed ? Reach::none() : Reach{}};
}

// The memory of `bytes` at `address`, which must lie in one allocation, perhaps in the one `seen`
// before.
SeenBefore::Memory memory_of(Driver& driver, Address address, Bytes bytes, const char* what,
                             std::optional<SeenBefore::Memory>& seen) {
  if (address.value == 0)
    fail_argument(fmt::format("{} is null", what), "there is no memory there", "Pass an address.");
  if (!holds(seen, address)) seen = look_at(driver, address);
  if (!seen)
    fail_argument(fmt::format("{} 0x{:x} is not known to the driver", what, address.value),
                  "it is in no live allocation of this machine",
                  "Allocate it at one of the machine's places.");
  const MemoryInfo& memory = seen->info;
  const std::uint64_t left = memory.base.value + memory.size.value - address.value;
  if (bytes.value > left)
    fail_argument(
        fmt::format("{} is too short", what),
        fmt::format("{} bytes are left in its allocation, {} were asked for", left, bytes.value),
        "Correct the size or the offset.");
  return *seen;
}

}  // namespace

CopyEnds resolve_memory(Driver& driver, const CopyCall& call) {
  SeenBefore nothing;
  return resolve_memory(driver, call, nothing);
}

CopyEnds resolve_memory(Driver& driver, const CopyCall& call, SeenBefore& seen) {
  const auto source = memory_of(driver, call.source, call.bytes, "source", seen.source);
  const auto destination =
      memory_of(driver, call.destination, call.bytes, "destination", seen.destination);
  return {.destination = destination.info.place,
          .source = source.info.place,
          .destination_kind = destination.info.kind,
          .source_kind = source.info.kind,
          .destination_reach = destination.reach,
          .source_reach = source.reach};
}

void refuse_overlap(const CopyCall& call) {
  if (overlaps_itself(call))
    fail_argument("source and destination overlap", "the result would depend on the order of bytes",
                  "Copy through a third buffer.");
}

}  // namespace polypath::engine
