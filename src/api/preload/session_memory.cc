#include "api/preload/session_memory.h"

#include <algorithm>

#include "api/preload/registered_memory.h"

namespace polypath::preload {
namespace {

bool holds(const MemoryInfo& memory, Address address, Bytes bytes) {
  return bytes.value <= memory.base.value + memory.size.value - address.value;
}

}  // namespace

// A context of the program's own ends without notice, and so do the mappings in
// it.
std::optional<Outcome> SessionMemory::look_at(const Question& question, ProgramEnd& end) {
  const Address address = question.address;
  driver_.imports().forget_ended(address, question.bytes);
  const auto imported = driver_.imports().find(address);
  if (imported &&
      (imported->owner == cuda::kOwnerUnknown || !driver_.contexts().gpu_of(imported->context)))
    return Outcome::owner_unknown;
  if (imported && imported->owner < 0) return Outcome::owner_hidden;
  if (imported && !driver_.imports().mappable(address)) return Outcome::unmappable;
  cuda::MemoryAccess access;
  const auto found = driver_.memory().find(address, &access);
  if (!found) return Outcome::unknown_memory;
  end = {*found, imported.has_value()};
  if (found->kind == MemoryKind::managed) return Outcome::managed;
  if (found->kind == MemoryKind::pinned) return look_at_pinned(question, access);
  if (end.imported || !end.is_device()) return std::nullopt;
  return access.shareable ? look_at_context(access, found->place) : look_at_opened(question, end);
}

// Relays read and write it as well. What was mapped at virtual addresses is of
// no context, and open to some GPUs only.
std::optional<Outcome> SessionMemory::look_at_pinned(const Question& question,
                                                     const cuda::MemoryAccess& access) {
  const bool written = question.use == cuda::OpenedMemory::Use::write;
  if (!RegisteredMemory::of_process().may_be_used(question.address, written))
    return Outcome::own_registration;
  if (access.context == nullptr) return Outcome::own_access;
  return std::nullopt;
}

// Every GPU with peer access reaches what cuMemAlloc has allocated in a primary
// context: that alone CUDA lets processes share by handles of the old kind, by
// which it is told apart from memory of pools and of virtual addresses.
std::optional<Outcome> SessionMemory::look_at_context(const cuda::MemoryAccess& access,
                                                      PlaceId gpu) {
  // Only of GPUs with a primary context already: asking for the GPU's own would
  // make one.
  const bool primary = access.context != nullptr && driver_.contexts().gpu_of(access.context);
  if (primary && access.context == streams_.context_of(gpu)) return std::nullopt;
  return Outcome::other_context;
}

// The stream's GPU makes the direct copy, and the GPU that has the memory all
// that goes over other paths: only these two need access.
std::optional<Outcome> SessionMemory::look_at_opened(const Question& question, ProgramEnd& end) {
  const auto memory = driver_.memory().find_opened(question.address, question.bytes);
  const PlaceId owner = end.memory.place;
  if (!memory || memory->owner() != streams_.number_of(owner)) return Outcome::own_access;
  for (const PlaceId gpu : {question.gpu, owner})
    if (!memory->is_open_to(streams_.number_of(gpu), question.use)) return Outcome::own_access;
  end.reach = Reach::only({question.gpu, owner});
  // It is all there, also where the driver tells of the first mapping only.
  const Bytes used{question.address.value + question.bytes.value - end.memory.base.value};
  end.memory.size = std::max(end.memory.size, used);
  return std::nullopt;
}

std::optional<Outcome> SessionMemory::resolve(const ProgramCopy& asked, PlaceId gpu,
                                              ProgramEnds& ends) {
  using Use = cuda::OpenedMemory::Use;
  if (const auto against =
          look_at({asked.destination, asked.bytes, gpu, Use::write}, ends.destination))
    return against;
  if (const auto against = look_at({asked.source, asked.bytes, gpu, Use::read}, ends.source))
    return against;
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
