#include "api/preload/shared_memory.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/log.h"
#include "driver/cuda/cuda_api.h"

namespace polypath::preload {
namespace {

std::atomic<SharedMemory*> the_process{nullptr};

// The facts of an allocation that the driver tells from an address in it.
struct Allocation {
  cuda::DevicePointer base = 0;
  std::size_t size = 0;
  std::uint64_t generation = 0;
  int gpu = -1;
};

std::optional<Allocation> allocation_at(cuda::DevicePointer address) {
  Allocation found;
  std::array<int, 4> which = {cuda::kPointerRangeStart, cuda::kPointerRangeSize,
                              cuda::kPointerBufferId, cuda::kPointerDeviceOrdinal};
  std::array<void*, 4> data = {&found.base, &found.size, &found.generation, &found.gpu};
  if (cuda::functions().pointer_attributes(4, which.data(), data.data(), address) != cuda::kSuccess)
    return std::nullopt;
  return found.base != 0 && found.size != 0 ? std::optional(found) : std::nullopt;
}

// The number here of the GPU that has a UUID.
int gpu_with(const cuda::GpuUuid& uuid) {
  for (int gpu = 0; gpu < cuda::DriverLibrary::get().gpus; ++gpu) {
    cuda::GpuUuid own;
    if (cuda::functions().device_uuid(&own, gpu) == cuda::kSuccess && own == uuid) return gpu;
  }
  return cuda::kOwnerHidden;
}

// No exception leaves the functions that the program calls: failures are logged.
template <class Call>
void logging_failures(Call call) noexcept {
  try {
    call();
  } catch (const std::exception& error) {
    log(LogLevel::debug, error.what());
  }
}

}  // namespace

SharedMemory::SharedMemory(const std::string& folder, cuda::Imports& imports)
    : registry_(folder), imports_(imports) {
  if (!registry_.problem().empty())
    log(LogLevel::warning,
        "copies of other processes' memory are left to the driver: " + registry_.problem());
}

SharedMemory& SharedMemory::of_process() {
  static auto& shared = *[] {
    auto* made = new SharedMemory(usual_user_folder(), cuda::Imports::of_process());
    the_process.store(made, std::memory_order_release);
    std::atexit([] { existing()->end(); });
    pthread_atfork(nullptr, nullptr, [] { existing()->forget(); });
    return made;
  }();
  return shared;
}

SharedMemory* SharedMemory::existing() { return the_process.load(std::memory_order_acquire); }

std::optional<ExportedMemory> SharedMemory::describe(const cuda::IpcHandle& handle,
                                                     cuda::DevicePointer address) const {
  if (!cuda::DriverLibrary::get().problem.empty()) return std::nullopt;
  const auto allocation = allocation_at(address);
  const auto self = this_process();
  cuda::GpuUuid owner;
  if (!allocation || allocation->generation == 0 || allocation->gpu < 0 || !self ||
      imports_.find({static_cast<std::uintptr_t>(address)}) ||
      cuda::functions().device_uuid(&owner, allocation->gpu) != cuda::kSuccess)
    return std::nullopt;
  return ExportedMemory{
      handle, *self, owner, allocation->base, {allocation->size}, allocation->generation};
}

void SharedMemory::exported(const cuda::IpcHandle& handle, cuda::DevicePointer address) noexcept {
  logging_failures([&] {
    const auto memory = describe(handle, address);
    if (!memory) return;
    const std::scoped_lock lock(mutex_);
    if (exports_by_base_.empty()) registry_.sweep();
    withdraw_earlier(*memory);
    withdraw_freed();
    if (!registry_.publish(*memory)) return;
    auto& [generation, handles] = exports_by_base_[memory->base];
    generation = memory->generation;
    if (std::find(handles.begin(), handles.end(), handle) == handles.end())
      handles.push_back(handle);
    exports_.store(exports_by_base_.size(), std::memory_order_release);
  });
}

void SharedMemory::withdraw(const Exported& exported) {
  for (const cuda::IpcHandle& handle : exported.handles) registry_.withdraw(handle);
}

// An allocation that has been freed unseen, and whose address has been given to this one.
void SharedMemory::withdraw_earlier(const ExportedMemory& memory) {
  const auto found = exports_by_base_.find(memory.base);
  if (found == exports_by_base_.end() || found->second.generation == memory.generation) return;
  withdraw(found->second);
  exports_by_base_.erase(found);
}

// Those that have been freed unseen, whose addresses may never be given out again. Looks at all of
// them when there are twice as many as were left the last time, so that on average an export looks
// at two.
void SharedMemory::withdraw_freed() {
  if (exports_by_base_.size() < look_again_at_) return;
  std::erase_if(exports_by_base_, [&](const auto& entry) {
    const auto& [base, exported] = entry;
    const auto there = allocation_at(base);
    if (there && there->base == base && there->generation == exported.generation) return false;
    withdraw(exported);
    return true;
  });
  look_again_at_ = std::max(kFewExports, 2 * exports_by_base_.size());
}

void SharedMemory::freeing(cuda::DevicePointer address) noexcept {
  if (exports_.load(std::memory_order_acquire) == 0) return;
  logging_failures([&] {
    const std::scoped_lock lock(mutex_);
    const auto found = exports_by_base_.find(address);
    if (found == exports_by_base_.end()) return;
    withdraw(found->second);
    exports_by_base_.erase(found);
    exports_.store(exports_by_base_.size(), std::memory_order_release);
  });
}

std::optional<ExportedMemory> SharedMemory::look_up(const cuda::IpcHandle& handle) noexcept {
  std::optional<ExportedMemory> entry;
  logging_failures([&] { entry = registry_.find(handle); });
  return entry;
}

// The exporter's size: CUDA may have mapped more than the allocation, including memory around it.
cuda::ImportedMemory SharedMemory::import_of(const cuda::IpcHandle& handle,
                                             const std::optional<ExportedMemory>& entry,
                                             cuda::DevicePointer base) const {
  cuda::ImportedMemory memory{
      {static_cast<std::uintptr_t>(base)}, {}, handle, nullptr, cuda::kOwnerUnknown};
  cuda::functions().context_current(&memory.context);
  const auto mapped = allocation_at(base);
  // Of unknown size it might be anything from there on: nothing of that is to be planned with.
  memory.size = {(mapped ? mapped->base + mapped->size : ~std::uint64_t{0}) - base};
  memory.id = mapped ? mapped->generation : 0;
  if (!mapped || !entry || memory.context == nullptr || memory.size < entry->size) return memory;
  memory.size = entry->size;
  memory.owner = memory.id == 0 ? cuda::kOwnerUnknown : gpu_with(entry->owner);
  return memory;
}

void SharedMemory::opened(const cuda::IpcHandle& handle,
                          const std::optional<ExportedMemory>& before,
                          cuda::DevicePointer base) noexcept {
  logging_failures([&] {
    if (!cuda::DriverLibrary::get().problem.empty()) return;
    const auto now = registry_.find(handle);
    const auto entry = now == before ? now : std::nullopt;
    imports_.add(import_of(handle, entry, base),
                 [this, handle, entry] { return entry && registry_.find(handle) == entry; });
  });
}

void SharedMemory::closing(cuda::DevicePointer base) noexcept {
  if (imports_.empty()) return;
  logging_failures([&] { imports_.remove({static_cast<std::uintptr_t>(base)}); });
}

// A forked child has its parent's list, but withdraws nothing: the entries name the parent.
void SharedMemory::end() noexcept {
  if (exports_.load(std::memory_order_acquire) == 0) return;
  logging_failures([&] {
    const std::scoped_lock lock(mutex_);
    for (const auto& [base, exported] : exports_by_base_) withdraw(exported);
    exports_by_base_.clear();
    exports_.store(0, std::memory_order_release);
  });
}

}  // namespace polypath::preload
