#include "driver/cuda/contexts.h"

#include <unistd.h>

#include <algorithm>

#include "driver/cuda/stream_room.h"

namespace polypath::cuda {
namespace {

std::size_t index_of(int gpu) { return static_cast<std::size_t>(gpu); }

}  // namespace

Contexts::Contexts(bool own)
    : cuda_(DriverLibrary::get().functions), own_(own), process_(getpid()) {}

bool Contexts::usable() const { return getpid() == process_; }

Contexts::~Contexts() {
  if (!usable()) return;
  // After CUDA has shut down at exit the call fails, which is all there is to it.
  for (std::size_t gpu = 0; gpu < kMostGpus; ++gpu)
    if (contexts_[gpu].load() != nullptr) cuda_.context_release(static_cast<Device>(gpu));
}

ContextPointer Contexts::of(int gpu) {
  auto& context = contexts_[static_cast<std::size_t>(gpu)];
  if (context.load(std::memory_order_acquire) == nullptr) retain(gpu);
  return context.load(std::memory_order_acquire);
}

ContextPointer Contexts::ours(int gpu) {
  if (!own_) return of(gpu);
  auto& context = owns_[index_of(gpu)];
  if (context.load(std::memory_order_acquire) == nullptr) make_own(gpu);
  return context.load(std::memory_order_acquire);
}

ContextPointer make_context(Device gpu) {
  const Functions& cuda = DriverLibrary::get().functions;
  const RelaxedCapture relaxed;
  ContextPointer made = nullptr, popped = nullptr;
  check(cuda.context_create(&made, 0, gpu), "cuCtxCreate");
  cuda.context_pop(&popped);
  return made;
}

void Contexts::make_own(int gpu) {
  const std::scoped_lock lock(mutex_);
  auto& slot = owns_[index_of(gpu)];
  if (slot.load() != nullptr) return;
  ContextPointer context = make_context(gpu);
  StreamRoom::of_process().make(context, StreamRoom::kAlone);
  slot.store(context, std::memory_order_release);
}

ContextPointer Contexts::any() {
  ContextPointer now = nullptr;
  return cuda_.context_current(&now) == kSuccess && now != nullptr ? now : retained();
}

// A context more than the process has is made only where it has none at all: it takes the GPU's
// memory, and in exclusive compute mode the GPU itself.
ContextPointer Contexts::retained() {
  for (auto* made : {&owns_, &contexts_})
    for (auto& slot : *made)
      if (ContextPointer context = slot.load(std::memory_order_acquire)) return context;
  const auto visible = std::min(static_cast<std::size_t>(DriverLibrary::get().gpus), kMostGpus);
  for (std::size_t gpu = 0; gpu < visible; ++gpu)
    if (is_active(static_cast<int>(gpu))) return of(static_cast<int>(gpu));
  return of(0);
}

bool is_active(Device gpu) {
  unsigned flags = 0;
  int active = 0;
  return DriverLibrary::get().functions.context_state(gpu, &flags, &active) == kSuccess &&
         active != 0;
}

// A GPU without a primary context is not given one for the comparison.
std::optional<int> Contexts::gpu_of_retained(ContextPointer context) const {
  const auto visible = static_cast<std::size_t>(DriverLibrary::get().gpus);
  for (std::size_t gpu = 0; gpu < std::min(visible, kMostGpus) && context != nullptr; ++gpu)
    if (contexts_[gpu].load(std::memory_order_acquire) == context) return static_cast<int>(gpu);
  return std::nullopt;
}

std::optional<int> Contexts::gpu_of(ContextPointer context) {
  if (const auto gpu = gpu_of_retained(context)) return gpu;
  const Current current(context);
  Device gpu = -1;
  if (cuda_.context_device(&gpu) != kSuccess || gpu < 0) return std::nullopt;
  if (static_cast<std::size_t>(gpu) >= kMostGpus || !is_active(gpu)) return std::nullopt;
  return of(gpu) == context ? std::optional(gpu) : std::nullopt;
}

void Contexts::retain(int gpu) {
  const std::scoped_lock lock(mutex_);
  auto& slot = contexts_[static_cast<std::size_t>(gpu)];
  if (slot.load() != nullptr) return;
  const RelaxedCapture relaxed;
  const bool is_new = !is_active(gpu);
  ContextPointer context = nullptr;
  check(cuda_.context_retain(&context, gpu), "cuDevicePrimaryCtxRetain");
  if (is_new) StreamRoom::of_process().make(context, StreamRoom::kBesideTheProgram);
  ids_[static_cast<std::size_t>(gpu)].store(id_of(context));
  slot.store(context, std::memory_order_release);
}

bool Contexts::are_alive() const {
  for (std::size_t gpu = 0; gpu < kMostGpus; ++gpu)
    if (const ContextPointer context = contexts_[gpu].load(std::memory_order_acquire))
      if (id_of(context) != ids_[gpu].load()) return false;
  return true;
}

std::uint64_t id_of(ContextPointer context) {
  const Functions& cuda = DriverLibrary::get().functions;
  unsigned long long id = 0;
  return cuda.context_id != nullptr && cuda.context_id(context, &id) == kSuccess ? id : 0;
}

// Asking which context is current costs a third of pushing and popping one.
Current::Current(ContextPointer context) {
  const Functions& cuda = DriverLibrary::get().functions;
  ContextPointer now = nullptr;
  if (cuda.context_current(&now) == kSuccess && now == context) return;
  check(cuda.context_push(context), "cuCtxPushCurrent");
  pushed_ = true;
}

Current::~Current() {
  ContextPointer popped = nullptr;
  if (pushed_) DriverLibrary::get().functions.context_pop(&popped);
}

RelaxedCapture::RelaxedCapture() : mode_(kCaptureModeRelaxed) {
  DriverLibrary::get().functions.thread_capture_mode(&mode_);
}

RelaxedCapture::~RelaxedCapture() { DriverLibrary::get().functions.thread_capture_mode(&mode_); }

}  // namespace polypath::cuda
