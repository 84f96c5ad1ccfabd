#include "driver/cuda/contexts.h"

#include <unistd.h>

#include <algorithm>

#include "driver/cuda/peer_access.h"
#include "driver/cuda/stream_room.h"

namespace polypath::cuda {

Contexts::Contexts(bool peer_access)
    : cuda_(DriverLibrary::get().functions), peer_access_(peer_access), process_(getpid()) {}

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

ContextPointer Contexts::any() {
  ContextPointer now = nullptr;
  return cuda_.context_current(&now) == kSuccess && now != nullptr ? now : retained();
}

// A context more than the process has is made only where it has none at all: it takes the GPU's
// memory, and in exclusive compute mode the GPU itself.
ContextPointer Contexts::retained() {
  for (auto& slot : contexts_)
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
std::optional<int> Contexts::gpu_of(ContextPointer context) {
  const auto visible = static_cast<std::size_t>(DriverLibrary::get().gpus);
  for (std::size_t gpu = 0; gpu < std::min(visible, kMostGpus); ++gpu)
    if (contexts_[gpu].load(std::memory_order_acquire) == context) return static_cast<int>(gpu);
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
  if (is_new) StreamRoom::of_process().make(context);
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

void Contexts::connect(int a, int b) {
  if (a == b || !peer_access_) return;
  auto& connected = connected_[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
  if (connected.load(std::memory_order_acquire)) return;
  enable(a, b);
  enable(b, a);
  connected.store(true, std::memory_order_release);
}

bool Contexts::reaches(int from, int to) const {
  int possible = 0;
  check(cuda_.device_can_access(&possible, from, to), "cuDeviceCanAccessPeer");
  return peer_access_ && possible != 0;
}

// GPUs that cannot reach each other copy all the same: the driver goes through the host.
void Contexts::enable(int from, int to) {
  if (!reaches(from, to)) return;
  const ContextPointer accessing = of(from), accessed = of(to);
  const Current current(accessing);
  const RelaxedCapture relaxed;
  const auto enable_access = [&] { return cuda_.context_enable_peer(accessed, 0); };
  check(PeerAccess::of_process().enable(accessing, accessed, enable_access),
        "cuCtxEnablePeerAccess");
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
