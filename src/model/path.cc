#include "model/path.h"

#include <algorithm>

namespace polypath {

PlaceId staging_place(const Machine& machine, const Path& path) {
  return path.staged() ? machine.hop(path.first).destination : PlaceId{};
}

std::string name_of(const Machine& machine, const Path& path) {
  return path.staged() ? machine.place(staging_place(machine, path)).name : "direct";
}

HockneyPath hockney_path(const Machine& machine, const Path& path) {
  const Hop& first = machine.hop(path.first);
  HockneyPath hockney{{first.latency, first.bandwidth}, std::nullopt, {}};
  if (!path.staged()) return hockney;
  const Hop& second = machine.hop(path.second);
  hockney.second = Leg{second.latency, second.bandwidth};
  hockney.staging = machine.place(first.destination).staging_latency;
  return hockney;
}

ResourceModel::ResourceModel(const Machine& machine) {
  for (const Resource& resource : machine.resources) {
    const bool engine = resource.copies_at_once > 0;
    capacities_.push_back(engine ? BytesPerSecond{double(resource.copies_at_once)}
                                 : resource.capacity);
  }
  for (const Hop& hop : machine.hops) {
    std::vector<Use> claims = hop.uses;
    for (Use& claim : claims)
      if (machine.resource(claim.resource).copies_at_once > 0)
        claim.weight /= hop.bandwidth.value;
    claims_.push_back(std::move(claims));
  }
}

std::vector<Use> ResourceModel::claims(const Path& path) const {
  std::vector<Use> sum = claims(path.first);
  if (!path.staged()) return sum;
  for (const Use& use : claims(path.second)) {
    const auto same = std::find_if(sum.begin(), sum.end(), [&](const Use& other) {
      return other.resource == use.resource;
    });
    if (same != sum.end()) same->weight += use.weight;
    else sum.push_back(use);
  }
  return sum;
}

}  // namespace polypath
