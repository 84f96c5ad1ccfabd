#include "driver/cuda/contexts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "core/error.h"
#include "driver/cuda/gpu_facts.h"
#include "driver/cuda/peer_access.h"
#include "driver/cuda/peer_check.h"
#include "driver/cuda/stream_room.h"
#include "driver/cuda/verified_peers.h"

namespace polypath::cuda {
namespace {

std::size_t index_of(int gpu) { return static_cast<std::size_t>(gpu); }

const std::string& bus_of(int gpu) { return facts().gpus.at(index_of(gpu)).bus_id; }

}  // namespace

Contexts::Contexts(bool peer_access, bool own)
    : cuda_(DriverLibrary::get().functions),
      peer_access_(peer_access),
      own_(own),
      process_(getpid()) {}

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

void Contexts::connect(int a, int b) {
  if (a == b || !peer_access_) return;
  verify(a, b);
  if (own_) enable_made(a, b), enable_made(b, a);
}

void Contexts::verify(int a, int b) {
  auto& connected = connected_[index_of(a)][index_of(b)];
  if (connected.load(std::memory_order_acquire)) return;
  const std::scoped_lock lock(connecting_);
  if (connected.load(std::memory_order_acquire)) return;
  open(a, b);
  connected.store(true, std::memory_order_release);
  connected_[index_of(b)][index_of(a)].store(true, std::memory_order_release);
}

void Contexts::require(int a, int b) {
  connect(a, b);
  if (!lost_[index_of(a)][index_of(b)].load(std::memory_order_acquire)) return;
  fail(ErrorCode::driver, fmt::format("GPU {} and GPU {} cannot exchange bytes", a, b),
       "the driver grants access, and the bytes of a trial did not arrive",
       "Turn ACS or the IOMMU off ('polypath doctor' lists such GPUs), or set "
       "POLYPATH_PEER_ACCESS=0.");
}

void Contexts::note_lost(int a, int b) {
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    lost_[index_of(from)][index_of(to)].store(true, std::memory_order_release);
    VerifiedPeers::of_process().note(bus_of(from), bus_of(to), false);
  }
}

void Contexts::open(int a, int b) {
  VerifiedPeers& verified = VerifiedPeers::of_process();
  const auto forth = verified.arrive(bus_of(a), bus_of(b));
  const auto back = verified.arrive(bus_of(b), bus_of(a));
  bool usable = forth.value_or(true) && back.value_or(true);
  if (usable && (!forth || !back)) usable = open_unseen(a, b);
  else if (usable && !own_) enable_both(a, b);
  if (usable) return;
  lost_[index_of(a)][index_of(b)].store(true, std::memory_order_release);
  lost_[index_of(b)][index_of(a)].store(true, std::memory_order_release);
}

// Before access is enabled, too: copies of the program between the two, which the driver stages
// without it, would be lost with it. A failure that cannot be seen now may be seen by another
// process.
bool Contexts::open_unseen(int a, int b) {
  const std::array ways{std::pair(a, b), std::pair(b, a)};
  std::array<Arrival, 2> seen{look(a, b), look(b, a)};
  const auto right = [&] { return seen[0] == Arrival::right && seen[1] == Arrival::right; };
  if (right()) {
    enable_both(a, b);
    seen = {look(a, b), look(b, a)};
    if (!right())
      for (const auto& [from, to] : ways)
        if (can_reach(from, to)) disable(ours(from), ours(to));
  }
  for (std::size_t way = 0; way < ways.size(); ++way)
    if (seen[way] != Arrival::unknown)
      VerifiedPeers::of_process().note(bus_of(ways[way].first), bus_of(ways[way].second),
                                       seen[way] == Arrival::right);
  return right();
}

// Where the driver does not grant access nothing is to be seen: it stages copies itself.
Arrival Contexts::look(int from, int to) {
  if (!can_reach(from, to)) return Arrival::right;
  return check_arrival({from, ours(from)}, {to, ours(to)});
}

void Contexts::enable_both(int a, int b) {
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
    if (can_reach(from, to)) enable(ours(from), ours(to));
}

// Between contexts of our own, of which either may be made later.
void Contexts::enable_made(int a, int b) {
  auto& enabled = enabled_[index_of(a)][index_of(b)];
  if (enabled.load(std::memory_order_acquire) || !has(a) || !has(b)) return;
  const std::scoped_lock lock(connecting_);
  if (!enabled.load(std::memory_order_acquire) && reaches(a, b)) enable(ours(a), ours(b));
  enabled.store(true, std::memory_order_release);
}

void Contexts::disable(ContextPointer from, ContextPointer to) const {
  const Current current(from);
  const RelaxedCapture relaxed;
  PeerAccess::of_process().give_up(from, to, [&] { return cuda_.context_disable_peer(to); });
}

bool Contexts::can_reach(int from, int to) const {
  int possible = 0;
  check(cuda_.device_can_access(&possible, from, to), "cuDeviceCanAccessPeer");
  return peer_access_ && possible != 0;
}

bool Contexts::reaches(int from, int to) const {
  return can_reach(from, to) &&
         !lost_[index_of(from)][index_of(to)].load(std::memory_order_acquire);
}

void Contexts::enable(ContextPointer from, ContextPointer to) const {
  const Current current(from);
  const RelaxedCapture relaxed;
  check(PeerAccess::of_process().enable(from, to, [&] { return cuda_.context_enable_peer(to, 0); }),
        "cuCtxEnablePeerAccess");
}

// GPUs that cannot reach each other copy all the same: the driver goes through the host. The
// program may begin to use a GPU at any time.
void Contexts::reach(int from, int to) {
  if (!own_ || from == to) return;
  auto& reached = reached_[index_of(from)][index_of(to)];
  if (reached.load(std::memory_order_acquire) || !reaches(from, to) || !is_active(to)) return;
  const std::scoped_lock lock(connecting_);
  if (reached.load(std::memory_order_acquire)) return;
  enable(ours(from), of(to));
  reached.store(true, std::memory_order_release);
}

void Contexts::connect_programs(int a, int b) {
  connect(a, b);
  if (!own_ || a == b || !peer_access_) return;
  auto& connected = programs_[index_of(a)][index_of(b)];
  if (connected.load(std::memory_order_acquire) || !is_active(a) || !is_active(b)) return;
  const std::scoped_lock lock(connecting_);
  if (connected.load(std::memory_order_acquire)) return;
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
    if (reaches(from, to)) enable(of(from), of(to));
  connected.store(true, std::memory_order_release);
  programs_[index_of(b)][index_of(a)].store(true, std::memory_order_release);
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
