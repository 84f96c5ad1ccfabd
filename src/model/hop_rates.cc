#include "model/hop_rates.h"

#include "model/burst_credit.h"

namespace polypath {
namespace {

// Sets of concurrent hops repeat; their rates are kept, up to a bound.
constexpr std::size_t kMostKnownRates = 4096;

}  // namespace

HopRates::HopRates(const Machine& machine)
    : machine_(machine), capacities_(capacities_of(machine)) {}

std::size_t HopRates::SceneHash::operator()(const Scene& scene) const noexcept {
  std::uint64_t hash = scene.hops.size();
  const auto mix = [&](std::int32_t value) {
    hash = (hash ^ static_cast<std::uint32_t>(value)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  };
  for (const std::int32_t hop : scene.hops) mix(hop);
  for (const ResourceId resource : scene.spent) mix(resource.value);
  return hash;
}

const std::vector<BytesPerSecond>& HopRates::of(const Scene& scene) {
  const auto known = known_.find(scene);
  if (known != known_.end()) return known->second;
  if (known_.size() >= kMostKnownRates) known_.clear();
  std::vector<Flow> flows;
  for (const std::int32_t index : scene.hops)
    flows.push_back({machine_.hop({index}).bandwidth, machine_.hop({index}).uses});
  const auto rates = fair_rates(flows, capacities_now(capacities_, scene.spent));
  std::vector<BytesPerSecond>& by_hop = known_[scene];
  by_hop.resize(machine_.hops.size());
  for (std::size_t f = 0; f < rates.size(); ++f)
    by_hop[static_cast<std::size_t>(scene.hops[f])] = rates[f];
  return by_hop;
}

}  // namespace polypath
