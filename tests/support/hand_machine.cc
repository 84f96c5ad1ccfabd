#include "support/hand_machine.h"

#include "support/layers.h"

namespace polypath::test {
namespace {

constexpr int kGpus = 3;

Hop hop_between(int source, int destination) {
  Hop hop;
  hop.source = {source};
  hop.destination = {destination};
  hop.latency = 10_us;
  const bool peer = source < kGpus && destination < kGpus;
  hop.kind = peer ? HopKind::peer : HopKind::host;
  hop.bandwidth = peer ? 0.8_GBps : 0.5_GBps;
  if (source == 2 && destination == 1) hop.bandwidth = 0.3_GBps;
  if (peer) hop.uses.push_back({ResourceId{destination}, 1});
  if (source == kGpus) hop.uses.push_back({ResourceId{kGpus + destination}, 1});
  return hop;
}

}  // namespace

Machine hand_machine() {
  Machine machine;
  machine.name = "hand";
  for (int gpu = 0; gpu < kGpus; ++gpu)
    machine.places.push_back({"gpu" + std::to_string(gpu), PlaceKind::gpu, "", 0, 7_us});
  machine.places.push_back({"host0", PlaceKind::host, "", 0, 7_us});
  for (int gpu = 0; gpu < kGpus; ++gpu)
    machine.resources.push_back({"gpu" + std::to_string(gpu) + ".ingress", "port", 1_GBps, 0});
  for (int gpu = 0; gpu < kGpus; ++gpu)
    machine.resources.push_back(
        {"gpu" + std::to_string(gpu) + ".h2d_engine", "engine", BytesPerSecond::infinity(), 1});
  for (int source = 0; source <= kGpus; ++source)
    for (int destination = 0; destination <= kGpus; ++destination)
      if (source != destination) machine.hops.push_back(hop_between(source, destination));
  machine.costs = {1_us, 2_us, 3_us, 4_us, 5_us, 1_us, 20_us, 2_us, 0.5_us};
  machine.driver.kernel_launch = 1_us;
  return machine;
}

}  // namespace polypath::test
