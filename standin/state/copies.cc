#include "standin/state/copies.h"

#include <fmt/format.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <vector>

#include "standin/state/copy_parts.h"

namespace polypath::standin {
namespace {

// True if the process can read the byte: a program that passes an address without memory gets an
// error and no crash.
bool is_readable(std::uintptr_t address) {
  char byte = 0;
  const iovec to{&byte, 1}, from{reinterpret_cast<void*>(address), 1};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1 || errno != EFAULT;
}

// From larger pageable memory an asynchronous copy first waits for its stream, as CUDA's does.
constexpr Bytes kReadAtOnce = 64_KiB;

void check_end(Process& process, Address begin, Bytes bytes, End end) {
  if (process.allocations.find(begin) != nullptr) return;
  if (end == End::known) refuse(kInvalidValue, "the driver knows no memory there");
  if (!is_readable(begin.value) || !is_readable(begin.value + bytes.value - 1))
    refuse(kInvalidValue, fmt::format("there is no memory at 0x{:x}", begin.value));
}

bool is_on_gpu(const Allocation* memory) {
  return memory != nullptr && (memory->origin == MemoryOrigin::device ||
                               memory->origin == MemoryOrigin::imported || is_opened(*memory));
}

bool is_managed(const Allocation* memory) {
  return memory != nullptr && memory->origin == MemoryOrigin::managed;
}

bool wants_synchronous(const Allocation* memory) {
  return memory != nullptr && memory->synchronous_copies;
}

Returns synchronous(const Allocation* to, const Allocation* from) {
  if (is_on_gpu(to) && is_on_gpu(from))
    return wants_synchronous(to) || wants_synchronous(from) ? Returns::complete : Returns::at_once;
  return from == nullptr && is_on_gpu(to) ? Returns::source_read : Returns::complete;
}

Returns asynchronous(const Allocation* to, const Allocation* from, Bytes bytes) {
  const bool host_only = !is_on_gpu(to) && !is_on_gpu(from) && !is_managed(to) && !is_managed(from);
  if (host_only || to == nullptr) return Returns::complete;
  return from == nullptr && bytes > kReadAtOnce ? Returns::source_read : Returns::at_once;
}

// Memory of another GPU, which the stream's own can reach only with peer access; memory mapped from
// another process comes with it.
bool reaches(const Context& own, const Allocation& memory) {
  return memory.origin == MemoryOrigin::imported || is_opened(memory) ||
         memory.ordinal == own.ordinal || own.peers.contains(memory.context);
}

// Only the GPUs that were given access may use memory that is mapped or of a pool; no other GPU
// may, not even by a detour. Of host memory that was registered to be read nothing is written.
void check_access(const Process& process, const Allocation* memory, const Stream& stream,
                  int wanted) {
  constexpr unsigned kReadOnly = 8;  // CU_MEMHOSTREGISTER_READ_ONLY
  if (memory == nullptr) return;
  if (memory->freed) refuse(kInvalidValue, "the pool has the memory back");
  if (memory->origin == MemoryOrigin::registered && (memory->flags & kReadOnly) != 0 &&
      wanted == kMayWrite)
    refuse(kInvalidValue, "GPUs may only read the memory");
  if (!is_opened(*memory)) return;
  const auto access = memory->access->find(process.contexts.find(stream.context).ordinal);
  if (access == memory->access->end() || (access->second & wanted) != wanted)
    refuse(kInvalidValue, "the GPU has not been given such access to the memory");
}

bool is_staged(const Process& process, const Allocation* to, const Allocation* from,
               const Stream& stream) {
  if (!is_on_gpu(to) || !is_on_gpu(from)) return false;
  const Context& own = process.contexts.find(stream.context);
  return !reaches(own, *to) || !reaches(own, *from);
}

// As behind ACS or an IOMMU.
bool is_dropped(const Process& process, const Allocation* to, const Allocation* from,
                const Stream& stream) {
  return process.settings.drops_peer_bytes && is_on_gpu(to) && is_on_gpu(from) &&
         to->gpu != from->gpu && !is_staged(process, to, from, stream);
}

// The other contexts whose GPUs a copy in the legacy default stream keeps busy.
std::set<ContextPointer> others_of(const Process& process, const Allocation* to,
                                   const Allocation* from, const Stream& stream) {
  std::set<ContextPointer> others;
  if (!stream.legacy || !is_on_gpu(to) || !is_on_gpu(from)) return others;
  const int own = process.contexts.find(stream.context).ordinal;
  for (const Allocation* memory : {to, from})
    if (memory->ordinal != own && to->ordinal != from->ordinal && memory->context != nullptr)
      others.insert(memory->context);
  return others;
}

void check_ends(Process& process, const CopyArguments& call, const Stream& stream) {
  check_end(process, call.destination, call.bytes, call.destination_end);
  check_end(process, call.source, call.bytes, call.source_end);
  check_access(process, process.allocations.find(call.destination), stream, kMayWrite);
  check_access(process, process.allocations.find(call.source), stream, kMayRead);
}

// Parts that lie in one mapping at both ends. They begin at a multiple of every element that fills
// are made of.
std::vector<CopyArguments> parts_of(Process& process, const CopyArguments& call) {
  const auto left_in = [&](Address address, Bytes bytes) {
    const Allocation* memory = process.allocations.find(address);
    if (memory == nullptr || memory->origin != MemoryOrigin::mapped) return bytes;
    return std::min(bytes, Bytes{memory->base.value + memory->size.value - address.value});
  };
  return parts_in_mappings(call, left_in);
}

// A part of a copy; when the call may return goes by all of it.
Waiting run(Process& process, const CopyArguments& call, Bytes all, Synchrony synchrony,
            Stream& stream) {
  const Allocation* to = process.allocations.find(call.destination);
  const Allocation* from = process.allocations.find(call.source);
  if (is_dropped(process, to, from, stream)) return {};
  const Returns returns =
      synchrony == Synchrony::synchronous ? synchronous(to, from) : asynchronous(to, from, all);
  const std::set<ContextPointer> others = others_of(process, to, from, stream);
  for (const ContextPointer other : others) process.streams.come_after(stream, other);
  Waiting waiting = process.runner->copy(
      {call.destination, call.source, call.bytes, is_staged(process, to, from, stream)}, returns,
      stream.work);
  for (const ContextPointer other : others) process.streams.hold_back(other, stream);
  return waiting;
}

// The last part is over when all are.
Waiting run_all(Process& process, const CopyArguments& call, Synchrony synchrony, Stream& stream) {
  const std::vector<CopyArguments> parts = parts_of(process, call);
  for (const CopyArguments& part : parts) check_ends(process, part, stream);
  Waiting waiting;
  for (const CopyArguments& part : parts)
    waiting = run(process, part, call.bytes, synchrony, stream);
  return waiting;
}

void capture(Process& process, const CopyArguments& call, Stream& stream) {
  if (process.allocations.find(call.destination) == nullptr ||
      process.allocations.find(call.source) == nullptr)
    spoil(stream.capturing, kCaptureUnsupported, "pageable memory cannot be in a graph here");
  add_copy(stream.capturing, {call.destination, call.source, call.bytes, {}});
}

// CUDA waits for memory that the host can touch to be filled, and for no other.
Returns filling(const Allocation& memory, Synchrony synchrony) {
  const bool waits = synchrony == Synchrony::synchronous && !is_on_gpu(&memory);
  return waits ? Returns::complete : Returns::at_once;
}

}  // namespace

Waiting enqueue_copy(Process& process, const CopyArguments& call, Synchrony synchrony,
                     StreamArgument argument) {
  (void)process.contexts.current();
  Stream& stream = process.stream(argument, WorkKind::copy);
  if (call.bytes.value == 0 || call.destination == call.source) return {};
  if (!stream.capturing.active()) return run_all(process, call, synchrony, stream);
  capture(process, call, stream);
  return {};
}

Waiting enqueue_fill(Process& process, Address destination, const std::vector<std::byte>& element,
                     std::uint64_t count, Synchrony synchrony, StreamArgument argument) {
  (void)process.contexts.current();
  const Allocation& memory = process.allocations.get(destination);
  Stream& stream = process.stream(argument, WorkKind::fill);
  if (stream.capturing.active())
    spoil(stream.capturing, kCaptureUnsupported, "graphs here have no fills");
  const Returns returns = filling(memory, synchrony);
  const Bytes bytes = Bytes{element.size()} * count;
  Waiting waiting;
  for (const CopyArguments& part : parts_of(process, {destination, destination, bytes})) {
    check_access(process, &process.allocations.get(part.destination), stream, kMayWrite);
    waiting = process.runner->fill(part.destination, part.bytes, element, returns, stream.work);
  }
  return waiting;
}

}  // namespace polypath::standin
