#include "model/path.h"

#include <algorithm>

namespace polypath::model {

Path staged_path(const Machine& machine, HopId first, HopId second) {
  const bool to_host = machine.place(machine.hop(second).destination).kind == PlaceKind::host;
  first.pulled = to_host && machine.hop(first).kind == HopKind::peer;
  return {first, second};
}

PlaceId staging_place(const Machine& machine, const Path& path) {
  return path.staged() ? machine.hop(path.first).destination : PlaceId{};
}

std::string name_of(const Machine& machine, const Path& path) {
  return path.staged() ? machine.place(staging_place(machine, path)).name : "direct";
}

Seconds join_latency(const Machine& machine, const Path& path) {
  const PlaceId source = machine.hop(path.first).source;
  const bool pushes = machine.place(source).kind == PlaceKind::gpu;
  return machine.wait_latency(path.second, pushes ? source : machine.hop(path.second).destination);
}

HockneyPath hockney_path(const Machine& machine, const Path& path) {
  const Hop& first = machine.hop(path.first);
  HockneyPath hockney{{first.latency, first.bandwidth}, std::nullopt, {}};
  if (!path.staged()) return hockney;
  const Hop& second = machine.hop(path.second);
  hockney.second = Leg{second.latency, second.bandwidth};
  hockney.staging = machine.staging(path.first, path.second);
  return hockney;
}

ResourceModel::ResourceModel(const Machine& machine) : machine_(&machine) {
  for (const Resource& resource : machine.resources) {
    const bool engine = resource.copies_at_once > 0;
    capacities_.push_back(engine ? Capacity::copies(resource.copies_at_once)
                                 : resource.rate_limit());
  }
  for (const Hop& hop : machine.hops) of_hops_.push_back(claims_of(hop));
}

// The rate at which both hops of a staged path together fill a resource that both use.
BytesPerSecond ResourceModel::shared_limit(const Path& path) const {
  BytesPerSecond limit = BytesPerSecond::infinity();
  if (!path.staged()) return limit;
  for (const Use& use : machine_->hop(path.first).uses)
    for (const Use& other : machine_->hop(path.second).uses)
      if (use.resource == other.resource)
        limit = std::min(limit, {machine_->resource(use.resource).rate_limit().peak() /
                                 (use.weight + other.weight)});
  return limit;
}

BytesPerSecond ResourceModel::own_rate(const Path& path) const {
  const BytesPerSecond first = machine_->hop(path.first).bandwidth;
  if (!path.staged()) return first;
  return std::min({first, machine_->hop(path.second).bandwidth, shared_limit(path)});
}

bool ResourceModel::exclude_each_other(HopId a, HopId b) const {
  for (const Use& use : machine_->hop(a).uses)
    for (const Use& other : machine_->hop(b).uses)
      if (use.resource == other.resource && machine_->resource(use.resource).copies_at_once == 1)
        return true;
  return false;
}

std::vector<Use> ResourceModel::claims_of(const Hop& hop) const {
  std::vector<Use> claims = hop.uses;
  for (Use& claim : claims)
    if (machine_->resource(claim.resource).copies_at_once > 0) claim.weight /= hop.bandwidth.value;
  return claims;
}

std::vector<Use> ResourceModel::claims(const Path& path) const {
  std::vector<Use> sum = claims(path.first);
  if (!path.staged()) return sum;
  for (const Use& use : claims(path.second)) {
    const auto same = std::find_if(
        sum.begin(), sum.end(), [&](const Use& other) { return other.resource == use.resource; });
    if (same != sum.end()) same->weight += use.weight;
    else sum.push_back(use);
  }
  return sum;
}

}  // namespace polypath::model
