#include "standin/state/ipc.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/hash.h"

namespace polypath::standin {
namespace {

constexpr std::uint64_t kMagic = 0x31304e492d444e53U;

// The contents of the 64 bytes.
struct Contents {
  std::uint64_t magic = kMagic;
  SegmentName segment;
  std::array<unsigned char, 16> uuid{};  ///< of the GPU
  std::uint64_t checksum = 0;            ///< of all before it
};
static_assert(sizeof(Contents) == sizeof(IpcHandle));

std::uint64_t checksum_of(const Contents& contents) {
  std::array<unsigned char, offsetof(Contents, checksum)> bytes{};
  std::memcpy(bytes.data(), &contents, bytes.size());
  return Hash().add(bytes.data(), bytes.size()).value();
}

Contents contents_of(const IpcHandle& handle) {
  Contents contents;
  std::memcpy(&contents, handle.bytes, sizeof contents);
  if (contents.magic != kMagic || contents.checksum != checksum_of(contents))
    refuse(kInvalidValue, "that is no handle of device memory");
  return contents;
}

// The GPU among all of the machine, visible here or not.
const Gpu& owner_of(const std::vector<Gpu>& gpus, const Contents& contents) {
  const auto found = std::find_if(gpus.begin(), gpus.end(),
                                  [&](const Gpu& gpu) { return gpu.uuid == contents.uuid; });
  if (found == gpus.end()) refuse(kInvalidValue, "the handle is of a GPU of another machine");
  return *found;
}

void check_reachable(const Gpu& from, const Gpu& owner) {
  if (from.index != owner.index && !from.reaches[owner.index])
    refuse(kPeerAccessUnsupported, "the GPUs cannot reach each other");
}

}  // namespace

IpcHandle export_memory(Process& process, Address address) {
  const Allocation& memory = process.allocations.get(address);
  if (memory.origin != MemoryOrigin::device)
    refuse(kInvalidValue, "only device memory of this process can be exported");
  Contents contents;
  contents.segment = memory.segment->name();
  contents.uuid = process.contexts.gpu(memory.ordinal).uuid;
  contents.checksum = checksum_of(contents);
  IpcHandle handle{};
  std::memcpy(handle.bytes, &contents, sizeof contents);
  return handle;
}

Address import_memory(Process& process, const IpcHandle& handle) {
  const Contents contents = contents_of(handle);
  if (contents.segment.process_nonce == Segment::nonce_of_this_process())
    refuse(kInvalidContext, "a process cannot open its own handle");
  const Context& context = process.contexts.current();
  const std::vector<Gpu> gpus = gpus_of(process.machine);
  const Gpu& owner = owner_of(gpus, contents);
  check_reachable(process.contexts.gpu(context.ordinal), owner);
  if (Allocation* open = process.allocations.find_import(contents.segment, context.handle)) {
    ++open->opened;
    return open->base;
  }
  Allocation memory;
  memory.segment = Segment::open(contents.segment);
  if (!memory.segment) refuse(kInvalidValue, "the memory of the handle is gone");
  memory.origin = MemoryOrigin::imported;
  memory.size = {contents.segment.size};
  memory.context = context.handle;
  memory.ordinal = context.ordinal;
  memory.opened = 1;
  return process.allocations.add_device(owner.place, std::move(memory));
}

namespace {

Allocation& imported(Process& process, Address base) {
  Allocation& memory = process.allocations.get(base);
  if (memory.origin != MemoryOrigin::imported || memory.base != base)
    refuse(kInvalidValue, "no imported memory begins there");
  return memory;
}

}  // namespace

Waiting finish_before_close(Process& process, Address base) {
  const Allocation& memory = imported(process, base);
  return process.runner->finish_before_free(memory.context,
                                            process.contexts.gpu(memory.ordinal).place);
}

void close_import(Process& process, Address base) {
  Allocation& memory = imported(process, base);
  if (--memory.opened == 0) process.allocations.remove(base, MemoryOrigin::imported, kInvalidValue);
}

}  // namespace polypath::standin
