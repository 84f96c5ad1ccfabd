#include "model/fair_rates.h"

#include <algorithm>
#include <limits>

namespace polypath::model {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

std::span<const double> FairRates::find(std::span<const Flow> flows,
                                        std::span<const Capacity> capacities) {
  begin(flows, capacities);
  fill();
  return rates_;
}

// Only what flows use is looked at: machines have many more resources.
void FairRates::use_resources(std::span<const Flow> flows, std::span<const Capacity> capacities) {
  for (const std::size_t resource : used_) resources_[resource] = {};
  used_.clear();
  resources_.resize(capacities.size());
  for (const Flow& flow : flows)
    for (const Use& use : flow.uses) {
      Filled& each = resources_[use.resource.index()];
      if (!each.used) used_.push_back(use.resource.index()), each.used = true;
      each.demand += use.weight * flow.cap.value;
    }
  for (const std::size_t resource : used_) {
    Filled& each = resources_[resource];
    each.left = capacities[resource].value;
    each.binds = binds(each.demand, each.left);
  }
}

// A flow that uses nothing that binds has its cap at once.
void FairRates::begin(std::span<const Flow> flows, std::span<const Capacity> capacities) {
  flows_ = flows;
  use_resources(flows, capacities);
  rates_.clear(), rising_.clear();
  for (std::size_t f = 0; f < flows.size(); ++f) {
    rates_.push_back(flows[f].cap.value);
    if (meets_limit(flows[f])) rising_.push_back(f);
  }
  for (const std::size_t f : rising_)
    for (const Use& use : flows[f].uses) resources_[use.resource.index()].rising += use.weight;
  for (const std::size_t resource : used_) {
    Filled& each = resources_[resource];
    each.share = each.binds ? each.left / each.rising : kInfinity;
  }
}

bool FairRates::meets_limit(const Flow& flow) const {
  return std::any_of(flow.uses.begin(), flow.uses.end(),
                     [&](const Use& use) { return resources_[use.resource.index()].binds; });
}

// Progressive filling: `level` is the common rate of the flows that still rise.
void FairRates::fill() {
  while (!rising_.empty()) {
    double level = kInfinity;
    for (const std::size_t f : rising_) level = std::min(level, limit_of(f));
    std::erase_if(rising_, [&](std::size_t f) {
      const bool stops = limit_of(f) <= level * kTogether;
      if (stops) stop(f, level);
      return stops;
    });
  }
}

// The level at which this flow must stop, were nothing else to stop before.
double FairRates::limit_of(std::size_t flow) const {
  double limit = flows_[flow].cap.value;
  for (const Use& use : flows_[flow].uses)
    limit = std::min(limit, resources_[use.resource.index()].share);
  return std::max(limit, 0.0);
}

// A stopped flow's rate leaves the capacity that the rising ones divide.
void FairRates::stop(std::size_t flow, double level) {
  rates_[flow] = level;
  for (const Use& use : flows_[flow].uses) {
    Filled& each = resources_[use.resource.index()];
    each.left -= use.weight * level;
    each.rising -= use.weight;
    if (each.binds) each.share = each.left / each.rising;
  }
}

std::vector<BytesPerSecond> fair_rates(std::span<const Flow> flows,
                                       std::span<const Capacity> capacities) {
  FairRates fair;
  std::vector<BytesPerSecond> rates;
  for (const double rate : fair.find(flows, capacities)) rates.push_back({rate});
  return rates;
}

std::vector<Capacity> capacities_of(const Machine& machine) {
  std::vector<Capacity> capacities;
  for (const Resource& resource : machine.resources) capacities.push_back(resource.rate_limit());
  return capacities;
}

}  // namespace polypath::model
