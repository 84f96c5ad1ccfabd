#include "model/program_bound.h"

#include <algorithm>
#include <map>
#include <vector>

#include "core/units.h"

namespace polypath::model {
namespace {

// A port carries hardly more than one copy over it: it is what they share.
constexpr double kHardlyMore = 1.5;

/// A limit of a copy over a hop, which may limit other copies as well.
struct Narrowest {
  ResourceId resource;  ///< invalid: the hop itself
  double rate;
};

Narrowest narrowest_of(const Machine& machine, const Hop& hop) {
  Narrowest found{{}, hop.bandwidth.value};
  for (const Use& use : hop.uses) {
    const Resource& resource = machine.resource(use.resource);
    const Capacity limit = resource.rate_limit();
    const double rate = std::max(limit.value, limit.burst) / use.weight;
    if (rate <= found.rate * kHardlyMore) found = {use.resource, std::min(rate, found.rate)};
  }
  return found;
}

/// Which end of a hop is a place's.
using End = PlaceId Hop::*;

// The most that leaves a place, or arrives there.
double most_over(const Machine& machine, End end, PlaceId place) {
  double total = 0;
  std::map<ResourceId, double> shared;
  for (const Hop& hop : machine.hops) {
    if (hop.*end != place || hop.source == hop.destination) continue;
    const Narrowest narrowest = narrowest_of(machine, hop);
    if (!narrowest.resource.valid()) total += narrowest.rate;
    else shared[narrowest.resource] = std::max(shared[narrowest.resource], narrowest.rate);
  }
  for (const auto& [resource, rate] : shared) total += rate;
  return total;
}

}  // namespace

Seconds least_time_by_any_way(const Machine& machine, const Program& program, double times) {
  double longest = 0;
  for (const End end : {&Hop::source, &Hop::destination}) {
    std::map<PlaceId, double> bytes;
    for (const Node& node : program.nodes())
      if (node.operation == Operation::copy && node.hop.valid())
        bytes[machine.hop(node.hop).*end] += node.bytes.real();
    for (const auto& [place, moved] : bytes)
      longest = std::max(longest, times * moved / most_over(machine, end, place));
  }
  return Seconds{longest};
}

Seconds least_time(const Machine& machine, const Program& program, double times) {
  std::vector<double> bytes(machine.resources.size()), busy(machine.resources.size());
  for (const Node& node : program.nodes()) {
    if (node.operation != Operation::copy || !node.hop.valid()) continue;
    const Hop& hop = machine.hop(node.hop);
    for (const Use& use : hop.uses) {
      bytes[use.resource.index()] += use.weight * node.bytes.real();
      busy[use.resource.index()] += node.bytes.real() / hop.bandwidth.value;
    }
  }
  double longest = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const Resource& resource = machine.resources[i];
    if (resource.copies_at_once == 1) longest = std::max(longest, times * busy[i]);
    if (resource.capacity < BytesPerSecond::infinity())
      longest = std::max(longest, resource.rate_limit().time_of(times * bytes[i]));
  }
  return Seconds{longest};
}

}  // namespace polypath::model
