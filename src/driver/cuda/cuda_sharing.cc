#include "driver/cuda/cuda_sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>

#include "core/error.h"
#include "core/process_identity.h"
#include "driver/cuda/gpu_facts.h"

namespace polypath::cuda {

CudaSharing::CudaSharing(const CudaGpus& gpus, Contexts& contexts, CudaMemory& memory)
    : cuda_(functions()), gpus_(gpus), contexts_(contexts), memory_(memory) {}

ExportedMemory CudaSharing::export_memory(Address address) {
  if (const auto pages = memory_.pinned().find_shared(address)) return bytes_of(*pages);
  MemoryAccess access;
  const auto memory = memory_.find(address, &access);
  if (!memory || memory->kind != MemoryKind::device || !access.shareable || imports_.find(address))
    fail(ErrorCode::unsupported, fmt::format("0x{:x} cannot be shared", address.value),
         "only memory that this process has from cuMemAlloc or allocate_shareable can",
         "Allocate it there.");
  ExportedAllocation shared;
  shared.exporter = this_process().value_or(ProcessIdentity{});
  shared.base = memory->base.value;
  shared.size = memory->size.value;
  shared.offset = address.value - memory->base.value;
  check(cuda_.device_uuid(&shared.gpu, gpus_.ordinal(memory->place)), "cuDeviceGetUuid");
  const Current current(contexts_.of(gpus_.ordinal(memory->place)));
  const RelaxedCapture relaxed;
  check(cuda_.ipc_export(&shared.handle, memory->base.value), "cuIpcGetMemHandle");
  return bytes_of(shared);
}

// A question for the kind of memory first: mappings have a name each, allocations one.
std::vector<MemoryPart> CudaSharing::shareable_parts(Address begin, Bytes bytes) {
  MemoryAccess access;
  const auto memory = memory_.find(begin, &access);
  if (!memory || memory->kind != MemoryKind::device || imports_.find(begin)) return {};
  const Current current(contexts_.of(gpus_.ordinal(memory->place)));
  if (!access.shareable) return mappings_of(begin, bytes);
  if (begin + bytes > memory->base + memory->size) return {};
  return {{memory->base, memory->size, id_of_memory(begin)}};
}

ExportedMemory CudaSharing::export_range(const std::vector<MemoryPart>& parts) {
  const Address base = parts.front().base;
  MemoryAccess access;
  const auto memory = memory_.find(base, &access);
  if (!memory || access.shareable || imports_.find(base)) return export_memory(base);
  const int owner = gpus_.ordinal(memory->place);
  ExportedMappings shared;
  shared.exporter = this_process().value_or(ProcessIdentity{});
  shared.each = parts.front().size.value, shared.count = parts.size();
  check(cuda_.device_uuid(&shared.gpu, owner), "cuDeviceGetUuid");
  shared.offer = MappingExports::of_process().offer(parts, contexts_.of(owner));
  return bytes_of(shared);
}

// The GPU among those of the machine.
int CudaSharing::owner_of(const GpuUuid& gpu) const {
  const std::string uuid = text_of(gpu);
  const auto is_owner = [&](const GpuFacts& each) {
    return each.uuid == uuid && gpus_.place_of(each.number).valid();
  };
  for (const auto* const gpus : {&facts().gpus, &all_gpus()}) {
    const auto found = std::ranges::find_if(*gpus, is_owner);
    if (found != gpus->end()) return found->number;
  }
  return kOwnerHidden;
}

// A process cannot open its own handle, nor need it.
Address CudaSharing::open(const ExportedAllocation& shared, int gpu) {
  const auto self = this_process();
  if (self && *self == shared.exporter) return {};
  const ContextPointer context = contexts_.of(gpu);
  const Current current(context);
  const RelaxedCapture relaxed;
  DevicePointer base = 0;
  check(cuda_.ipc_open(&base, shared.handle, kIpcLazyPeerAccess), "cuIpcOpenMemHandle");
  imports_.add({.base = {static_cast<std::uintptr_t>(base)},
                .size = {shared.size},
                .handle = shared.handle,
                .context = context,
                .owner = owner_of(shared.gpu),
                .id = id_of_memory({static_cast<std::uintptr_t>(base)})},
               [] { return true; });
  return {static_cast<std::uintptr_t>(base)};
}

Address CudaSharing::import_memory(const ExportedMemory& memory, PlaceId gpu) {
  if (memory.size() == sizeof(ExportedPages)) return import_pages(memory);
  if (memory.size() == sizeof(ExportedAllocation)) return import_device(memory, gpu);
  if (memory.size() == sizeof(ExportedMappings)) return import_mappings(memory, gpu);
  fail(ErrorCode::invalid_argument, "memory cannot be imported",
       fmt::format("{} bytes name none", memory.size()), "Pass what export_memory returned.");
}

Address CudaSharing::import_device(const ExportedMemory& memory, PlaceId gpu) {
  ExportedAllocation shared;
  std::memcpy(&shared, memory.data(), sizeof shared);
  const Address base = open(shared, gpus_.ordinal(gpu));
  const Address begin = base.value != 0 ? base : Address{static_cast<std::uintptr_t>(shared.base)};
  const Address address = begin + Bytes{shared.offset};
  const std::scoped_lock lock(mutex_);
  opened_.emplace(address, base);
  return address;
}

Address CudaSharing::import_mappings(const ExportedMemory& memory, PlaceId gpu) {
  ExportedMappings shared;
  std::memcpy(&shared, memory.data(), sizeof shared);
  const int own = gpus_.ordinal(gpu), owner = owner_of(shared.gpu);
  const ContextPointer context = contexts_.of(own);
  const Current current(context);
  const RelaxedCapture relaxed;
  const Address base = mappings_.import(shared, own, owner);
  imports_.add({.base = base,
                .size = {shared.each * shared.count},
                .handle = {},
                .context = context,
                .owner = owner,
                .id = id_of_memory(base),
                .of_all = true},
               [] { return true; });
  const std::scoped_lock lock(mutex_);
  opened_.emplace(base, base);
  return base;
}

// Memory of this very process is registered already.
Address CudaSharing::import_pages(const ExportedMemory& memory) {
  ExportedPages shared;
  std::memcpy(&shared, memory.data(), sizeof shared);
  const auto self = this_process();
  Address base{static_cast<std::uintptr_t>(shared.base)};
  std::unique_ptr<SharedPages> pages;
  if (!self || *self != shared.pages.owner) {
    pages = memory_.pinned().open(shared.pages);
    base = {reinterpret_cast<std::uintptr_t>(pages->begin())};
  }
  const Address address = base + Bytes{shared.offset};
  const std::scoped_lock lock(mutex_);
  opened_.emplace(address, pages ? base : Address{});
  if (pages) opened_pages_[base] = std::move(pages);
  return address;
}

void CudaSharing::release_import(Address address) {
  std::unique_lock lock(mutex_);
  const auto found = opened_.find(address);
  if (found == opened_.end())
    fail(ErrorCode::invalid_argument, fmt::format("0x{:x} cannot be given back", address.value),
         "import_memory did not return it, or it was given back", "Give each import back once.");
  const Address base = found->second;
  opened_.erase(found);
  auto pages = opened_pages_.extract(base);
  lock.unlock();
  if (!pages.empty()) return memory_.pinned().release(std::move(pages.mapped()));
  if (base.value == 0) return;
  const auto import = imports_.find(base);
  imports_.remove(base);
  const Current current(import ? import->context : contexts_.any());
  const RelaxedCapture relaxed;
  if (mappings_.release(base)) return;
  check(cuda_.ipc_close(base.value), "cuIpcCloseMemHandle");
}

// To close a handle may wait for the GPU; to unmap does not.
bool CudaSharing::release_may_wait(Address address) {
  const auto import = imports_.find(address);
  return import && !import->of_all;
}

}  // namespace polypath::cuda
