#include "model/hop_rates.h"

#include <algorithm>
#include <bit>

#include "core/units.h"

namespace polypath::model {

HopRates::HopRates(const Machine& machine)
    : machine_(machine), capacities_(capacities_of(machine)) {
  for (std::int32_t hop = 0; hop < static_cast<std::int32_t>(machine.hops.size()); ++hop) {
    caps_.push_back(machine.hop({hop}).bandwidth.value);
    for (const Use& use : machine.hop({hop}).uses) {
      if (capacities_[use.resource.index()] == BytesPerSecond::infinity()) continue;
      uses_.push_back(use);
    }
    begins_.push_back(uses_.size());
  }
  for (std::size_t r = 0; r < capacities_.size(); ++r)
    if (capacities_[r].credit > 0) with_burst_.push_back({static_cast<std::int32_t>(r)});
}

RatesAtWork::RatesAtWork(const HopRates& hops)
    : limits_(hops),
      hops_(hops.hops()),
      resources_(hops.capacities().size()),
      words_((hops.hops() + kBits - 1) / kBits),
      at_work_(words_ * resources_.size()),
      reached_bits_(words_) {
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
    const double demand = resource.demand;
    resource.copies += copies;
    resource.demand += copies * use.weight * limits_.cap(hop);
    if (resource.copies == 0) resource.demand = 0;
    std::uint64_t& word = word_of(use.resource, hop);
    word = at(hop).copies > 0 ? word | bit_of(hop) : word & ~bit_of(hop);
    if (binds(std::max(demand, resource.demand), resource.capacity))
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
  for (const ResourceId resource : to_clear_) resources_[resource.index()].reached = false;
  std::ranges::fill(reached_bits_, 0);
  reached_.clear(), to_clear_.clear(), changed_.clear();
}

void RatesAtWork::reach(std::int32_t hop) {
  std::uint64_t& word = reached_bits_[index_of(hop) / kBits];
  if ((word & bit_of(hop)) != 0) return;
  word |= bit_of(hop);
  reached_.push_back(hop);
}

// In the order of the hops.
void RatesAtWork::reach_users(ResourceId resource) {
  bool& reached = resources_[resource.index()].reached;
  if (reached) return;
  reached = true;
  to_clear_.push_back(resource);
  for (std::size_t word = 0; word < words_; ++word) {
    std::uint64_t more = at_work_[words_ * resource.index() + word] & ~reached_bits_[word];
    reached_bits_[word] |= more;
    for (; more != 0; more &= more - 1)
      reached_.push_back(static_cast<std::int32_t>(word * kBits) + std::countr_zero(more));
  }
}

void RatesAtWork::reach_all() {
  for (const ResourceId resource : changed_) reach_users(resource);
  for (std::size_t next = 0; next < reached_.size();)  // more are reached meanwhile
    for (const Use& use : limits_.uses(reached_[next++]))
      if (binds(at(use).demand, at(use).capacity)) reach_users(use.resource);
}

// Progressive filling of the hops that were reached (fair_rates.h).
void RatesAtWork::fill() {
  begin_filling();
  while (!rising_.empty()) {
    double level = BytesPerSecond::infinity().value;
    for (const std::int32_t hop : rising_) level = std::min(level, limit_of(hop));
    std::size_t left = 0;
    for (const std::int32_t hop : rising_)
      if (limit_of(hop) <= level * kTogether) stop(hop, level);
      else rising_[left++] = hop;
    rising_.resize(left);
  }
}

void RatesAtWork::begin_filling() {
  for (const std::int32_t hop : reached_)
    for (const Use& use : limits_.uses(hop)) at(use).left = at(use).capacity, at(use).rising = 0;
  for (const std::int32_t hop : reached_) {
    at(hop).rate = -1;
    if (at(hop).copies > 0) rising_.push_back(hop);
    for (const Use& use : limits_.uses(hop)) at(use).rising += at(hop).copies * use.weight;
  }
  for (const std::int32_t hop : rising_)
    for (const Use& use : limits_.uses(hop)) at(use).divide();
}

double RatesAtWork::limit_of(std::int32_t hop) const {
  double limit = limits_.cap(hop);
  for (const Use& use : limits_.uses(hop)) limit = std::min(limit, at(use).share);
  return std::max(limit, 0.0);
}

void RatesAtWork::stop(std::int32_t hop, double rate) {
  at(hop).rate = rate;
  for (const Use& use : limits_.uses(hop)) {
    at(use).left -= at(hop).copies * use.weight * rate;
    at(use).rising -= at(hop).copies * use.weight;
    at(use).divide();
  }
}

}  // namespace polypath::model
