#include "plan/plan.h"

namespace polypath::plan {
namespace {

// A copy that the driver itself stages through the host gains nothing as part of a path, nor does
// one between nodes, whose adapters every path shares.
std::optional<HopId> real_hop(const Machine& machine, PlaceId source, PlaceId destination) {
  const auto hop = machine.find_hop(source, destination);
  if (hop && !is_by_gpu(machine.hop(*hop).kind)) return std::nullopt;
  return hop;
}

}  // namespace

std::vector<Path> find_paths(const Machine& machine, PlaceId source, PlaceId destination) {
  std::vector<Path> paths;
  if (const auto direct = machine.find_hop(source, destination)) paths.push_back({*direct, {}});
  for (const PlaceKind kind : {PlaceKind::gpu, PlaceKind::host})
    for (const PlaceId via : machine.places_of(kind)) {
      if (via == source || via == destination) continue;
      const auto first = real_hop(machine, source, via);
      const auto second = real_hop(machine, via, destination);
      if (first && second) paths.push_back(staged_path(machine, *first, *second));
    }
  return paths;
}

}  // namespace polypath::plan
