#pragma once
// GPUs that are joined pairwise, each ordered pair by a link of its own.

#include "machine/machine.h"
#include "model/path.h"
#include "support/layers.h"

namespace polypath::test {

/// `gpus` GPUs, links of 1 GB/s in each direction, copies that start after `latency`, calls that
/// cost nothing.
inline Machine mesh_machine(int gpus, Seconds latency = 1_us) {
  Machine machine;
  machine.name = "mesh";
  for (int gpu = 0; gpu < gpus; ++gpu)
    machine.places.push_back({"gpu" + std::to_string(gpu), PlaceKind::gpu, "", 0, latency});
  for (int from = 0; from < gpus; ++from)
    for (int to = 0; to < gpus; ++to) {
      if (from == to) continue;
      const ResourceId link{static_cast<std::int32_t>(machine.resources.size())};
      machine.resources.push_back(
          {"gpu" + std::to_string(from) + "-gpu" + std::to_string(to) + ".link", "link", 1_GBps});
      machine.hops.push_back({{from}, {to}, HopKind::peer, latency, 1_GBps, {{link}}});
    }
  return machine;
}

/// The direct path and those through each other GPU.
inline std::vector<Path> mesh_paths(const Machine& mesh, PlaceId source, PlaceId destination) {
  std::vector<Path> paths{{*mesh.find_hop(source, destination), {}}};
  for (const PlaceId via : mesh.places_of(PlaceKind::gpu))
    if (via != source && via != destination)
      paths.push_back({*mesh.find_hop(source, via), *mesh.find_hop(via, destination)});
  return paths;
}

}  // namespace polypath::test
