#include "model/hop_rates.h"

#include <algorithm>

#include "core/units.h"

namespace polypath::model {
namespace {

// Sums of demands are rounded, so a resource that they fill exactly counts as one that binds.
constexpr double kBinds = 1 - 1e-9;
// Hops that are limited alike stop together.
constexpr double kTogether = 1 + 1e-12;

bool binds(double demand, double capacity) { return demand > capacity * kBinds; }

}  // namespace

HopRates::HopRates(const Machine& machine)
    : machine_(machine), capacities_(capacities_of(machine)) {
  std::vector<std::vector<std::int32_t>> users(machine.resources.size());
  for (std::int32_t hop = 0; hop < static_cast<std::int32_t>(machine.hops.size()); ++hop) {
    caps_.push_back(machine.hop({hop}).bandwidth.value);
    for (const Use& use : machine.hop({hop}).uses) {
      if (capacities_[use.resource.index()] == BytesPerSecond::infinity()) continue;
      uses_.values.push_back(use);
      users[use.resource.index()].push_back(hop);
    }
    uses_.begins.push_back(uses_.values.size());
  }
  for (const std::vector<std::int32_t>& each : users) {
    users_.values.insert(users_.values.end(), each.begin(), each.end());
    users_.begins.push_back(users_.values.size());
  }
  for (std::size_t r = 0; r < capacities_.size(); ++r)
    if (capacities_[r].credit > 0) with_burst_.push_back({static_cast<std::int32_t>(r)});
}

RatesAtWork::RatesAtWork(const HopRates& hops)
    : limits_(hops), hops_(hops.hops()), resources_(hops.capacities().size()) {
  for (std::size_t r = 0; r < resources_.size(); ++r)
    resources_[r].capacity = hops.capacities()[r].peak();
}

void RatesAtWork::begin(HopId hop) {
  reach(hop.value);
  change(hop.value, 1);
}

void RatesAtWork::end(HopId hop) { change(hop.value, -1); }

// Rounding does not add up: a resource without users is asked for nothing.
void RatesAtWork::change(std::int32_t hop, int copies) {
  at(hop).copies += copies;
  for (const Use& use : limits_.uses(hop)) {
    ResourceAtWork& resource = at(use);
    const double before = resource.demand;
    resource.copies += copies;
    resource.demand += copies * use.weight * limits_.cap(hop);
    if (resource.copies == 0) resource.demand = 0;
    if (binds(std::max(before, resource.demand), resource.capacity))
      changed_.push_back(use.resource);
  }
}

void RatesAtWork::limit(ResourceId resource, double capacity) {
  ResourceAtWork& limited = resources_[resource.index()];
  if (limited.capacity == capacity) return;
  limited.capacity = capacity;
  changed_.push_back(resource);
}

void RatesAtWork::find() {
  reach_all();
  fill();
  for (const std::int32_t hop : reached_) at(hop).reached = false;
  for (const ResourceId resource : to_clear_) resources_[resource.index()].reached = false;
  reached_.clear(), to_clear_.clear(), changed_.clear();
}

void RatesAtWork::reach(std::int32_t hop) {
  if (at(hop).reached) return;
  at(hop).reached = true;
  reached_.push_back(hop);
}

void RatesAtWork::reach_users(ResourceId resource) {
  bool& reached = resources_[resource.index()].reached;
  if (reached) return;
  reached = true;
  to_clear_.push_back(resource);
  for (const std::int32_t hop : limits_.users(resource))
    if (at(hop).copies > 0) reach(hop);
}

void RatesAtWork::reach_all() {
  for (const ResourceId resource : changed_) reach_users(resource);
  for (std::size_t next = 0; next < reached_.size();)  // more are reached meanwhile
    for (const Use& use : limits_.uses(reached_[next++]))
      if (binds(at(use).demand, at(use).capacity)) reach_users(use.resource);
}

// Progressive filling of the hops that were reached (fair_rates.h).
void RatesAtWork::fill() {
  for (const std::int32_t hop : reached_)
    for (const Use& use : limits_.uses(hop)) at(use).left = at(use).capacity, at(use).rising = 0;
  std::size_t rising = 0;
  for (const std::int32_t hop : reached_) {
    at(hop).rate = -1;
    if (at(hop).copies > 0) ++rising;
    for (const Use& use : limits_.uses(hop)) at(use).rising += at(hop).copies * use.weight;
  }
  while (rising > 0) {
    const auto rises = [&](std::int32_t hop) { return at(hop).copies > 0 && at(hop).rate < 0; };
    double level = BytesPerSecond::infinity().value;
    for (const std::int32_t hop : reached_)
      if (rises(hop)) level = std::min(level, limit_of(hop));
    for (const std::int32_t hop : reached_)
      if (rises(hop) && limit_of(hop) <= level * kTogether) stop(hop, level), --rising;
  }
}

double RatesAtWork::limit_of(std::int32_t hop) {
  double limit = limits_.cap(hop);
  for (const Use& use : limits_.uses(hop)) limit = std::min(limit, at(use).left / at(use).rising);
  return std::max(limit, 0.0);
}

void RatesAtWork::stop(std::int32_t hop, double rate) {
  at(hop).rate = rate;
  for (const Use& use : limits_.uses(hop)) {
    at(use).left -= at(hop).copies * use.weight * rate;
    at(use).rising -= at(hop).copies * use.weight;
  }
}

}  // namespace polypath::model
