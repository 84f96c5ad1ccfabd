#include "api/preload/session_memory.h"

namespace polypath::preload {
namespace {

bool holds(const MemoryInfo& memory, Address address, Bytes bytes) {
  return bytes.value <= memory.base.value + memory.size.value - address.value;
}

}  // namespace

// A context of the program's own ends without notice, and so do the mappings in
// it.
std::optional<Outcome> SessionMemory::look_at(Address address, Bytes bytes, ProgramEnd& end) {
  driver_.imports().forget_ended(address, bytes);
  const auto imported = driver_.imports().find(address);
  if (imported &&
      (imported->owner == cuda::kOwnerUnknown || !driver_.contexts().gpu_of(imported->context)))
    return Outcome::owner_unknown;
  if (imported && imported->owner < 0) return Outcome::owner_hidden;
  if (imported && !driver_.imports().mappable(address)) return Outcome::unmappable;
  cuda::MemoryAccess access;
  const auto found = driver_.find_memory(address, &access);
  if (!found) return Outcome::unknown_memory;
  end = {*found, imported.has_value()};
  if (found->kind == MemoryKind::managed) return Outcome::managed;
  if (end.imported || !end.is_device()) return std::nullopt;
  return look_at_access(access, found->place);
}

// Memory from pools and of virtual addresses is open only to the GPUs that it
// has been opened to. Every GPU with peer access reaches what cuMemAlloc has
// allocated in a primary context: that alone CUDA lets processes share by
// handles of the old kind, by which it is told apart.
std::optional<Outcome> SessionMemory::look_at_access(const cuda::MemoryAccess& access,
                                                     PlaceId gpu) {
  if (!access.shareable) return Outcome::own_access;
  // Only of GPUs with a primary context already: asking for the GPU's own would
  // make one.
  const bool primary = access.context != nullptr && driver_.contexts().gpu_of(access.context);
  if (primary && access.context == streams_.context_of(gpu)) return std::nullopt;
  return Outcome::other_context;
}

std::optional<Outcome> SessionMemory::resolve(const ProgramCopy& asked, ProgramEnds& ends) {
  if (const auto against = look_at(asked.destination, asked.bytes, ends.destination))
    return against;
  if (const auto against = look_at(asked.source, asked.bytes, ends.source)) return against;
  if (ends.destination.memory.place == ends.source.memory.place) return Outcome::same_memory;
  if (!ends.destination.is_device() && !ends.source.is_device()) return Outcome::same_memory;
  if (ends.pageable() && asked.bytes < settings_.pageable_min) return Outcome::pageable;
  if (ends.pageable() && !engine_.windows_pay()) return Outcome::few_cpus;
  if (!holds(ends.destination.memory, asked.destination, asked.bytes) ||
      !holds(ends.source.memory, asked.source, asked.bytes))
    return Outcome::unknown_memory;
  return std::nullopt;
}

}  // namespace polypath::preload
