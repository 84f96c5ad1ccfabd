#include "model/hop_rates.h"

#include <algorithm>
#include <bit>

#include "core/units.h"
#include "model/needed_limits.h"

namespace polypath::model {

HopRates::HopRates(const Machine& machine)
    : machine_(machine), capacities_(capacities_of(machine)) {
  const std::vector<bool> needed = needed_limits(machine, capacities_);
  std::vector<int> users(capacities_.size());
  for (const Hop& hop : machine.hops)
    for (const Use& use : hop.uses) ++users[use.resource.index()];
  for (const Hop& hop : machine.hops) {
    own_.push_back(BytesPerSecond::infinity().value);
    for (const Use& use : hop.uses)
      if (needed[use.resource.index()]) add_use(use, users[use.resource.index()] == 1);
    caps_.push_back(std::min(hop.bandwidth.value, own_.back()));
    begins_.push_back(uses_.size());
  }
  for (std::size_t r = 0; r < capacities_.size(); ++r)
    if (capacities_[r].credit > 0) with_burst_.push_back({static_cast<std::int32_t>(r)});
}

// Of the last hop.
void HopRates::add_use(const Use& use, bool is_only_user) {
  const Capacity& capacity = capacities_[use.resource.index()];
  if (is_only_user && capacity.credit == 0)
    own_.back() = std::min(own_.back(), capacity.value / use.weight);
  else uses_.push_back(use);
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

// Those that are left share what only they use.
void RatesAtWork::end(HopId hop) {
  change(hop.value, -1);
  if (at(hop.value).copies > 0) reach(hop.value);
}

// Rounding does not add up: a resource without users is asked for nothing.
void RatesAtWork::change(std::int32_t hop, int copies) {
  at(hop).copies += copies;
  for (const Use& use : limits_.uses(hop)) {
    ResourceAtWork& resource = at(use);
    const bool did_bind = resource.binds;
    resource.copies += copies;
    resource.demand += copies * use.weight * limits_.cap(hop);
    if (resource.copies == 0) resource.demand = 0;
    resource.binds = binds(resource.demand, resource.capacity);
    std::uint64_t& word = word_of(use.resource, hop);
    word = at(hop).copies > 0 ? word | bit_of(hop) : word & ~bit_of(hop);
    if (did_bind || resource.binds) changed_.push_back(use.resource.index());
  }
}

void RatesAtWork::limit(ResourceId resource, double capacity) {
  ResourceAtWork& limited = resources_[resource.index()];
  if (limited.capacity == capacity) return;
  limited.capacity = capacity;
  limited.binds = binds(limited.demand, capacity);
  changed_.push_back(resource.index());
}

void RatesAtWork::find() {
  reach_all();
  fill();
  for (const std::size_t resource : to_clear_) resources_[resource].reached = false;
  std::ranges::fill(reached_bits_, 0);
  reached_.clear(), to_clear_.clear(), changed_.clear(), claims_.clear();
}

void RatesAtWork::reach(std::int32_t hop) {
  std::uint64_t& word = reached_bits_[index_of(hop) / kBits];
  if ((word & bit_of(hop)) != 0) return;
  word |= bit_of(hop);
  reached_.push_back(hop);
}

// In the order of the hops.
void RatesAtWork::reach_users(std::size_t resource) {
  ResourceAtWork& reached = resources_[resource];
  if (reached.reached) return;
  reached.reached = true;
  reached.left = reached.capacity, reached.rising = 0;
  to_clear_.push_back(resource);
  for (std::size_t word = 0; word < words_; ++word) {
    std::uint64_t more = at_work_[words_ * resource + word] & ~reached_bits_[word];
    reached_bits_[word] |= more;
    for (; more != 0; more &= more - 1)
      reached_.push_back(static_cast<std::int32_t>(word * kBits) + std::countr_zero(more));
  }
}

void RatesAtWork::reach_all() {
  for (const std::size_t resource : changed_) reach_users(resource);
  for (std::size_t next = 0; next < reached_.size();) {  // more are reached meanwhile
    const std::int32_t hop = reached_[next++];
    if (at(hop).copies > 0) claim(hop);
  }
}

// Resources that do not bind limit nothing, so that only the others count.
void RatesAtWork::claim(std::int32_t hop) {
  const std::size_t first = claims_.size();
  const double copies = at(hop).copies;
  for (const Use& use : limits_.uses(hop)) {
    if (!at(use).binds) continue;
    const std::size_t resource = use.resource.index();
    reach_users(resource);
    resources_[resource].rising += copies * use.weight;
    claims_.push_back({resource, copies * use.weight});
  }
  if (claims_.size() == first) at(hop).rate = cap(hop);
  else rising_.push_back({hop, first, claims_.size(), 0, cap(hop)});
}

// Progressive filling of the hops that were reached (fair_rates.h).
void RatesAtWork::fill() {
  while (!rising_.empty()) {
    const double level = find_limits();
    std::size_t left = 0;
    for (const Rising& each : rising_)
      if (each.limit <= level * kTogether) stop(each, level);
      else rising_[left++] = each;
    rising_.resize(left);
  }
}

// The level at which each hop that rises must stop, were nothing else to stop before. Returns the
// lowest.
double RatesAtWork::find_limits() {
  for (const std::size_t resource : to_clear_) {
    ResourceAtWork& reached = resources_[resource];
    reached.share = reached.left / reached.rising;
  }
  double level = BytesPerSecond::infinity().value;
  for (Rising& each : rising_) {
    double limit = each.cap;
    for (std::size_t i = each.first; i < each.end; ++i)
      limit = std::min(limit, resources_[claims_[i].resource].share);
    each.limit = std::max(limit, 0.0);
    level = std::min(level, each.limit);
  }
  return level;
}

void RatesAtWork::stop(const Rising& rising, double rate) {
  at(rising.hop).rate = rate;
  for (std::size_t i = rising.first; i < rising.end; ++i) {
    ResourceAtWork& resource = resources_[claims_[i].resource];
    resource.left -= claims_[i].weight * rate;
    resource.rising -= claims_[i].weight;
  }
}

}  // namespace polypath::model
