#include "probe/hop_sets.h"

#include <algorithm>
#include <map>
#include <optional>

#include "model/fair_rates.h"
#include "model/tolerance.h"

namespace polypath::probe {
namespace {

constexpr std::size_t kMostAtOnce = 24;
constexpr std::size_t kMostOverOneHop = 2;
// A hop that adds less than this is not worth another stream.
constexpr double kWorthAHop = 1 + kAlike;

// True if all copies of the set can run at once.
bool engines_allow(const Machine& machine, const HopSet& set) {
  std::map<ResourceId, int> busy;
  for (const HopId hop : set)
    for (const Use& use : machine.hop(hop).uses) {
      const int limit = machine.resource(use.resource).copies_at_once;
      if (limit > 0 && ++busy[use.resource] > limit) return false;
    }
  return true;
}

std::vector<HopId> users_of(const Machine& machine, ResourceId resource) {
  std::vector<HopId> users;
  for (std::size_t i = 0; i < machine.hops.size(); ++i)
    if (weight_of(machine.hops[i], resource) > 0) users.push_back({static_cast<std::int32_t>(i)});
  return users;
}

}  // namespace

double weight_of(const Hop& hop, ResourceId resource) {
  double weight = 0;
  for (const Use& use : hop.uses)
    if (use.resource == resource) weight += use.weight;
  return weight;
}

bool share_something(const Hop& a, const Hop& b) {
  return std::any_of(a.uses.begin(), a.uses.end(), [&](const Use& use) {
    return std::any_of(b.uses.begin(), b.uses.end(),
                       [&](const Use& other) { return other.resource == use.resource; });
  });
}

BytesPerSecond expected_total(const Machine& machine, const Knowledge& knowledge,
                              ResourceId resource, const HopSet& set) {
  std::vector<Flow> flows;
  for (const HopId hop : set)
    flows.push_back({knowledge.bandwidths[hop.index()], machine.hop(hop).uses});
  const std::vector<BytesPerSecond> rates = fair_rates(flows, knowledge.capacities);
  double total = 0;
  for (std::size_t i = 0; i < set.size(); ++i)
    total += weight_of(machine.hop(set[i]), resource) * rates[i].value;
  return {total};
}

HopSet heaviest_set(const Machine& machine, Knowledge knowledge, ResourceId resource) {
  knowledge.capacities[resource.index()] = BytesPerSecond::infinity();
  const std::vector<HopId> users = users_of(machine, resource);
  std::map<HopId, std::size_t> times;
  HopSet set;
  double total = 0;
  while (set.size() < kMostAtOnce) {
    std::optional<HopId> best;
    double best_total = total * kWorthAHop;
    for (const HopId hop : users) {
      set.push_back(hop);
      if (times[hop] < kMostOverOneHop && engines_allow(machine, set)) {
        const double expected = expected_total(machine, knowledge, resource, set).value;
        if (expected > best_total) best = hop, best_total = expected;
      }
      set.pop_back();
    }
    if (!best) break;
    set.push_back(*best);
    ++times[*best];
    total = best_total;
  }
  return set;
}

}  // namespace polypath::probe
