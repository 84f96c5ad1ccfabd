#include "probe/capacities.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace polypath::probe {
namespace {

constexpr int kRounds = 3;
// Each set runs so often, and the median total counts: between runs host memory differs more than
// within one. A run is looked at in so many parts.
constexpr int kRuns = 7;
constexpr int kParts = 5;
// A set must promise this much more than was seen to be tried; with less in between, a resource
// counts as the limit that held copies back.
constexpr double kWorthATry = 1.02;

class CapacityMeasurement {
 public:
  CapacityMeasurement(Workbench& bench, const Sampler& sampler, const std::vector<HopTimes>& hops);

  std::vector<CapacityFound> measure(const std::function<void()>& step);

 private:
  using Rates = std::vector<std::vector<BytesPerSecond>>;  // by lane, in parts of the time

  void see_single_hops();
  void try_set(ResourceId resource);
  [[nodiscard]] Rates run_set(ResourceId resource, const HopSet& set) const;
  [[nodiscard]] Rates run_often(ResourceId resource, const HopSet& set) const;
  void judge(ResourceId resource);
  void see(const HopSet& set, const Rates& rates);
  [[nodiscard]] BytesPerSecond without_limit(ResourceId resource, const HopSet& set) const;
  [[nodiscard]] bool is_capacity(std::size_t resource) const {
    return std::isfinite(machine_.resources[resource].capacity.value);
  }

  Workbench& bench_;
  const Sampler& sampler_;
  const std::vector<HopTimes>& hops_;
  const Machine& machine_;
  Knowledge known_;
  std::vector<CapacityFound> found_;
  std::set<HopSet> tried_;
};

CapacityMeasurement::CapacityMeasurement(Workbench& bench, const Sampler& sampler,
                                         const std::vector<HopTimes>& hops)
    : bench_(bench),
      sampler_(sampler),
      hops_(hops),
      machine_(bench.machine()),
      found_(machine_.resources.size()) {
  for (const HopTimes& hop : hops) known_.bandwidths.push_back(hop.bandwidth());
  known_.capacities.assign(machine_.resources.size(), BytesPerSecond::infinity());
  see_single_hops();
}

// A copy alone was seen to pass, too.
void CapacityMeasurement::see_single_hops() {
  for (std::size_t h = 0; h < machine_.hops.size(); ++h)
    for (const Use& use : machine_.hops[h].uses) {
      CapacityFound& found = found_[use.resource.index()];
      const BytesPerSecond taken{weight_of(machine_.hops[h], use.resource) *
                                 known_.bandwidths[h].value};
      if (!is_capacity(use.resource.index()) || taken <= found.total) continue;
      found.total = taken;
      found.spread = hops_[h].spread;
    }
}

BytesPerSecond CapacityMeasurement::without_limit(ResourceId resource, const HopSet& set) const {
  Knowledge knowledge = known_;
  knowledge.capacities[resource.index()] = BytesPerSecond::infinity();
  return expected_total(machine_, knowledge, resource, set);
}

// The set's use of every resource counts, not only of the one that it was chosen for.
void CapacityMeasurement::see(const HopSet& set, const Rates& rates) {
  for (std::size_t r = 0; r < found_.size(); ++r) {
    if (!is_capacity(r)) continue;
    std::vector<double> totals(rates.front().size(), 0);
    for (std::size_t i = 0; i < set.size(); ++i)
      for (std::size_t part = 0; part < totals.size(); ++part)
        totals[part] +=
            weight_of(machine_.hop(set[i]), {static_cast<std::int32_t>(r)}) * rates[i][part].value;
    const Sample total = summary(totals);
    if (total.value <= found_[r].total.value) continue;
    found_[r].total = {total.value};
    found_[r].spread = total.spread;
    found_[r].copies = set.size();
  }
}

CapacityMeasurement::Rates CapacityMeasurement::run_set(ResourceId resource,
                                                        const HopSet& set) const {
  const std::string what = fmt::format("copies over {} hops at once, for {}", set.size(),
                                       machine_.resource(resource).name);
  Rates rates;
  (void)sampler_.measure_all(what, [&] {
    rates = concurrent_rates(bench_, set, hops_, kParts);
    std::vector<double> totals(rates.front().size(), 0);
    for (const auto& lane : rates)
      for (std::size_t part = 0; part < totals.size(); ++part) totals[part] += lane[part].value;
    return totals;
  });
  return rates;
}

// The run whose total is the median.
CapacityMeasurement::Rates CapacityMeasurement::run_often(ResourceId resource,
                                                          const HopSet& set) const {
  std::vector<Rates> runs;
  for (int i = 0; i < kRuns; ++i) runs.push_back(run_set(resource, set));
  const auto total = [](const Rates& rates) {
    double sum = 0;
    for (const auto& lane : rates)
      for (const BytesPerSecond rate : lane) sum += rate.value;
    return sum;
  };
  const auto middle = runs.begin() + kRuns / 2;
  std::nth_element(runs.begin(), middle, runs.end(),
                   [&](const Rates& a, const Rates& b) { return total(a) < total(b); });
  return *middle;
}

void CapacityMeasurement::try_set(ResourceId resource) {
  const HopSet set = heaviest_set(machine_, known_, resource);
  const CapacityFound& found = found_[resource.index()];
  const bool promising =
      without_limit(resource, set).value > kWorthATry * found.total.value && set.size() > 1;
  if (promising && tried_.insert(set).second) see(set, run_often(resource, set));
  known_.capacities[resource.index()] = found.total;
}

std::vector<CapacityFound> CapacityMeasurement::measure(const std::function<void()>& step) {
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t tried = tried_.size();
    for (std::size_t r = 0; r < found_.size(); ++r) {
      if (is_capacity(r)) try_set({static_cast<std::int32_t>(r)});
      if (is_capacity(r) && round == 0) step();
    }
    // A set's use of a resource may exceed the value noted before it.
    for (std::size_t r = 0; r < found_.size(); ++r)
      if (is_capacity(r)) known_.capacities[r] = found_[r].total;
    if (tried_.size() == tried) break;
  }
  for (std::size_t r = 0; r < found_.size(); ++r)
    if (is_capacity(r)) judge({static_cast<std::int32_t>(r)});
  return found_;
}

// Without a limit of its own, the little that was missing is latency between the copies; a limit
// there would only keep later copies from what these had.
void CapacityMeasurement::judge(ResourceId resource) {
  CapacityFound& found = found_[resource.index()];
  const HopSet set = heaviest_set(machine_, known_, resource);
  const BytesPerSecond most = without_limit(resource, set);
  found.is_limit = most.value > kWorthATry * found.total.value;
  if (!found.is_limit) found.total = std::max(found.total, most);
}

}  // namespace

std::vector<CapacityFound> measure_capacities(Workbench& bench, const Sampler& sampler,
                                              const std::vector<HopTimes>& hops,
                                              const std::function<void()>& step) {
  return CapacityMeasurement(bench, sampler, hops).measure(step);
}

}  // namespace polypath::probe
