#include "probe/bursts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "model/fair_rates.h"

namespace polypath::probe {
namespace {

constexpr Bytes kTotals[] = {8_MiB, 16_MiB, 256_MiB, 512_MiB};
constexpr Seconds kRest = 1000_us;  // for what a cache of 100 MiB needs to be empty again
// A smaller value is within the error of a line through two times.
constexpr double kFasterAtLeast = 1.1;
constexpr Bytes kLargerThan = 1_MiB;

// Any other limit of copies may have a burst as well.
Knowledge without_limits(Knowledge known) {
  std::fill(known.capacities.begin(), known.capacities.end(), BytesPerSecond::infinity());
  return known;
}

class BurstMeasurement {
 public:
  BurstMeasurement(Workbench& bench, const Sampler& sampler, ResourceId resource,
                   const Knowledge& known)
      : bench_(bench),
        sampler_(sampler),
        resource_(resource),
        set_(heaviest_set(bench.machine(), without_limits(known), resource)) {
    std::vector<Flow> flows;
    for (const HopId hop : set_)
      flows.push_back({known.bandwidths[hop.index()], bench.machine().hop(hop).uses});
    rates_ = fair_rates(flows, known.capacities);
  }

  std::optional<BurstFound> measure();

 private:
  [[nodiscard]] std::vector<Driver::Enqueued> copies_of(Bytes total, double& taken);
  void rest();
  [[nodiscard]] Seconds once(const std::vector<Driver::Enqueued>& copies);

  Workbench& bench_;
  const Sampler& sampler_;
  ResourceId resource_;
  HopSet set_;
  std::vector<BytesPerSecond> rates_;
};

// Copies that end together at their fair rates; their use of the resource is rounded.
std::vector<Driver::Enqueued> BurstMeasurement::copies_of(Bytes total, double& taken) {
  const Machine& machine = bench_.machine();
  double sum = 0;
  for (std::size_t i = 0; i < set_.size(); ++i)
    sum += weight_of(machine.hop(set_[i]), resource_) * rates_[i].value;
  std::vector<Driver::Enqueued> copies;
  std::map<PlaceId, int> slots;
  taken = 0;
  for (std::size_t i = 0; i < set_.size(); ++i) {
    const Hop& hop = machine.hop(set_[i]);
    const auto wanted = static_cast<std::uint64_t>(total.real() * rates_[i].value / sum);
    const Bytes bytes{std::max(wanted / kGrain, std::uint64_t{1}) * kGrain};
    const int source = slots[hop.source]++, destination = slots[hop.destination]++;
    copies.push_back({bench_.copy_over(set_[i], bytes, source, destination),
                      bench_.stream(machine.executing_gpu(set_[i]), static_cast<int>(i))});
    taken += weight_of(hop, resource_) * bytes.real();
  }
  return copies;
}

// Asking takes some time on a virtual clock, too.
void BurstMeasurement::rest() {
  bench_.settle();
  const EventHandle event = bench_.event(bench_.machine().executing_gpu(set_.front()));
  const Seconds until = bench_.driver().now() + kRest;
  while (bench_.driver().now() < until) (void)bench_.driver().is_done(event);
}

Seconds BurstMeasurement::once(const std::vector<Driver::Enqueued>& copies) {
  rest();
  Driver& driver = bench_.driver();
  const Seconds start = driver.now();
  for (const Driver::Enqueued& each : copies) driver.copy(each.request, each.stream);
  for (const Driver::Enqueued& each : copies) driver.synchronize(each.stream);
  return driver.now() - start;
}

std::optional<BurstFound> BurstMeasurement::measure() {
  if (set_.size() < 2) return std::nullopt;
  double taken[4], time[4], spread = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto copies = copies_of(kTotals[i], taken[i]);
    const std::string what = fmt::format("{} copies at once from a rest on, for {}", copies.size(),
                                         bench_.machine().resource(resource_).name);
    const Sample sample = sampler_.measure(what, [&] { return once(copies).value; });
    time[i] = sample.value;
    spread = std::max(spread, sample.spread);
  }
  const double rate = (taken[1] - taken[0]) / (time[1] - time[0]);
  const double lasting = (taken[3] - taken[2]) / (time[3] - time[2]);
  const double fixed = time[0] - taken[0] / rate;
  const double size = taken[2] - lasting * (time[2] - fixed);
  if (!(lasting > 0 && rate > kFasterAtLeast * lasting && size > kLargerThan.real()))
    return std::nullopt;
  return BurstFound{{{rate}, {static_cast<std::uint64_t>(size)}}, {lasting}, spread};
}

}  // namespace

std::vector<std::optional<BurstFound>> measure_bursts(
    Workbench& bench, const Sampler& sampler, const std::vector<HopTimes>& hops,
    const std::vector<CapacityFound>& capacities) {
  Knowledge known;
  for (const HopTimes& hop : hops) known.bandwidths.push_back(hop.bandwidth());
  for (const CapacityFound& each : capacities)
    known.capacities.emplace_back(each.total.value > 0 ? each.total : BytesPerSecond::infinity());
  std::vector<std::optional<BurstFound>> found(capacities.size());
  for (std::size_t r = 0; r < capacities.size(); ++r) {
    if (!capacities[r].is_limit) continue;
    try {
      found[r] = BurstMeasurement(bench, sampler, {static_cast<std::int32_t>(r)}, known).measure();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::noisy_machine) throw;
    }
  }
  return found;
}

}  // namespace polypath::probe
