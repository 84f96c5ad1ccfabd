#include "driver/cuda/peer_links.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "driver/cuda/gpu_facts.h"
#include "driver/cuda/nvml.h"
#include "driver/cuda/peer_access.h"
#include "driver/cuda/verified_peers.h"

namespace polypath::cuda {
namespace {

std::size_t index_of(int gpu) { return static_cast<std::size_t>(gpu); }

const std::string& bus_of(int gpu) { return facts_of(gpu).bus_id; }

// What a hidden GPU's process shares is opened to the importing GPU when it is mapped.
bool is_one_hidden(int a, int b) { return !is_visible(a) || !is_visible(b); }

}  // namespace

PeerLinks::PeerLinks(Contexts& contexts, bool allowed)
    : cuda_(functions()), contexts_(contexts), allowed_(allowed) {}

void PeerLinks::connect(int a, int b) {
  if (a == b || !allowed_ || is_one_hidden(a, b)) return;
  verify(a, b);
  if (contexts_.are_own()) enable_made(a, b), enable_made(b, a);
}

void PeerLinks::verify(int a, int b) {
  auto& connected = connected_[index_of(a)][index_of(b)];
  if (connected.load(std::memory_order_acquire)) return;
  const std::scoped_lock lock(connecting_);
  if (connected.load(std::memory_order_acquire)) return;
  open(a, b);
  connected.store(true, std::memory_order_release);
  connected_[index_of(b)][index_of(a)].store(true, std::memory_order_release);
}

void PeerLinks::require(int a, int b) {
  connect(a, b);
  if (!lost_[index_of(a)][index_of(b)].load(std::memory_order_acquire)) return;
  fail(ErrorCode::driver, fmt::format("GPU {} and GPU {} cannot exchange bytes", a, b),
       "the driver grants access, and the bytes of a trial did not arrive",
       "Turn ACS or the IOMMU off ('polypath doctor' lists such GPUs), or set "
       "POLYPATH_PEER_ACCESS=0.");
}

void PeerLinks::note_lost(int a, int b) {
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    lost_[index_of(from)][index_of(to)].store(true, std::memory_order_release);
    VerifiedPeers::of_process().note(bus_of(from), bus_of(to), false);
  }
}

void PeerLinks::open(int a, int b) {
  VerifiedPeers& verified = VerifiedPeers::of_process();
  const auto forth = verified.arrive(bus_of(a), bus_of(b));
  const auto back = verified.arrive(bus_of(b), bus_of(a));
  bool usable = forth.value_or(true) && back.value_or(true);
  if (usable && (!forth || !back)) usable = open_unseen(a, b);
  else if (usable && !contexts_.are_own()) enable_both(a, b);
  if (usable) return;
  lost_[index_of(a)][index_of(b)].store(true, std::memory_order_release);
  lost_[index_of(b)][index_of(a)].store(true, std::memory_order_release);
}

// Before access is enabled, too: copies of the program between the two, which the driver stages
// without it, would be lost with it. A failure that cannot be seen now may be seen by another
// process.
bool PeerLinks::open_unseen(int a, int b) {
  const std::array ways{std::pair(a, b), std::pair(b, a)};
  std::array<Arrival, 2> seen{look(a, b), look(b, a)};
  const auto right = [&] { return seen[0] == Arrival::right && seen[1] == Arrival::right; };
  if (right()) {
    enable_both(a, b);
    seen = {look(a, b), look(b, a)};
    if (!right())
      for (const auto& [from, to] : ways)
        if (can_reach(from, to)) disable(contexts_.ours(from), contexts_.ours(to));
  }
  for (std::size_t way = 0; way < ways.size(); ++way)
    if (seen[way] != Arrival::unknown)
      VerifiedPeers::of_process().note(bus_of(ways[way].first), bus_of(ways[way].second),
                                       seen[way] == Arrival::right);
  return right();
}

// Where the driver does not grant access nothing is to be seen: it stages copies itself.
Arrival PeerLinks::look(int from, int to) {
  if (!can_reach(from, to)) return Arrival::right;
  return check_arrival({from, contexts_.ours(from)}, {to, contexts_.ours(to)});
}

void PeerLinks::enable_both(int a, int b) {
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
    if (can_reach(from, to)) enable(contexts_.ours(from), contexts_.ours(to));
}

// Between contexts of our own, of which either may be made later.
void PeerLinks::enable_made(int a, int b) {
  auto& enabled = enabled_[index_of(a)][index_of(b)];
  if (enabled.load(std::memory_order_acquire) || !contexts_.has(a) || !contexts_.has(b)) return;
  const std::scoped_lock lock(connecting_);
  if (!enabled.load(std::memory_order_acquire) && reaches(a, b))
    enable(contexts_.ours(a), contexts_.ours(b));
  enabled.store(true, std::memory_order_release);
}

void PeerLinks::disable(ContextPointer from, ContextPointer to) const {
  const Current current(from);
  const RelaxedCapture relaxed;
  PeerAccess::of_process().give_up(from, to, [&] { return cuda_.context_disable_peer(to); });
}

bool PeerLinks::can_reach(int from, int to) const {
  if (is_one_hidden(from, to)) return allowed_ && reaches_by_nvml(bus_of(from), bus_of(to));
  int possible = 0;
  check(cuda_.device_can_access(&possible, from, to), "cuDeviceCanAccessPeer");
  return allowed_ && possible != 0;
}

bool PeerLinks::reaches(int from, int to) const {
  return can_reach(from, to) &&
         !lost_[index_of(from)][index_of(to)].load(std::memory_order_acquire);
}

void PeerLinks::enable(ContextPointer from, ContextPointer to) const {
  const Current current(from);
  const RelaxedCapture relaxed;
  check(PeerAccess::of_process().enable(from, to, [&] { return cuda_.context_enable_peer(to, 0); }),
        "cuCtxEnablePeerAccess");
}

// GPUs that cannot reach each other copy all the same: the driver goes through the host. The
// program may begin to use a GPU at any time.
void PeerLinks::reach(int from, int to) {
  if (!contexts_.are_own() || from == to || is_one_hidden(from, to)) return;
  auto& reached = reached_[index_of(from)][index_of(to)];
  if (reached.load(std::memory_order_acquire) || !reaches(from, to) || !is_active(to)) return;
  const std::scoped_lock lock(connecting_);
  if (reached.load(std::memory_order_acquire)) return;
  enable(contexts_.ours(from), contexts_.of(to));
  reached.store(true, std::memory_order_release);
}

void PeerLinks::connect_programs(int a, int b) {
  connect(a, b);
  if (!contexts_.are_own() || a == b || !allowed_ || is_one_hidden(a, b)) return;
  auto& connected = programs_[index_of(a)][index_of(b)];
  if (connected.load(std::memory_order_acquire) || !is_active(a) || !is_active(b)) return;
  const std::scoped_lock lock(connecting_);
  if (connected.load(std::memory_order_acquire)) return;
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
    if (reaches(from, to)) enable(contexts_.of(from), contexts_.of(to));
  connected.store(true, std::memory_order_release);
  programs_[index_of(b)][index_of(a)].store(true, std::memory_order_release);
}

}  // namespace polypath::cuda
