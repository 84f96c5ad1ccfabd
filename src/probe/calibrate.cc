#include "probe/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/error.h"
#include "core/text.h"
#include "probe/bursts.h"
#include "probe/call_costs.h"
#include "probe/capacities.h"
#include "probe/discover.h"
#include "probe/hold_up.h"
#include "probe/hop_times.h"
#include "probe/staging.h"

namespace polypath::probe {
namespace {

// A machine file has no time above 1 s and no bandwidth outside these; neither has a machine.
constexpr double kSlowest = 1e6, kFastest = 1e14;
constexpr double kLongest = 1;

constexpr std::string_view kHowBusy =
    "busy latency: copies to the host beside a long one to a peer";

std::string percent(double fraction) { return fmt::format("{:.2f} %", 100 * fraction); }

class Calibrator {
 public:
  Calibrator(Driver& driver, const Machine& nominal, const CalibrationOptions& options,
             const Progress& progress)
      : bench_(driver, nominal),
        sampler_(options.trust),
        progress_(progress),
        measured_(fmt::format("measured {} on {} ({}) by calibrate", options.date, driver.name(),
                              nominal.name)) {
    result_.machine = nominal;
    result_.provenance.nominal = nominal;
    count_steps();
  }

  Calibration run();

 private:
  void count_steps();
  void step();
  void measure_hops();
  void note_hop(const HopTimes& times);
  void note_synchronize();
  void note_staging(const std::vector<StagingTimes>& times);
  void note_missing_staging(std::size_t place);
  void note_capacities(const std::vector<CapacityFound>& found);
  void note_bursts(const std::vector<std::optional<BurstFound>>& found);
  void note_hold_up(const std::optional<Cost>& found);
  void note_cost(Seconds CallCosts::*cost, Seconds value, const std::string& how);
  void note_cost(Seconds CallCosts::*cost, const Cost& measured, const std::string& how);
  void note_graphs(const GraphCosts& costs);
  [[nodiscard]] std::string sentence(const std::string& how, double spread) const;

  Workbench bench_;
  Sampler sampler_;
  const Progress& progress_;
  std::string measured_;
  int done_ = 0, total_ = 0;
  StreamCosts stream_costs_;
  std::vector<HopTimes> hops_;
  Calibration result_;
};

void Calibrator::count_steps() {
  const Machine& machine = bench_.machine();
  Provenance& provenance = result_.provenance;
  provenance.places.resize(machine.places.size());
  provenance.resources.resize(machine.resources.size());
  provenance.bursts.resize(machine.resources.size());
  provenance.latencies.resize(machine.hops.size());
  provenance.bandwidths.resize(machine.hops.size());
  provenance.costs.resize(cost_fields().size());
  const auto capacities =
      std::count_if(machine.resources.begin(), machine.resources.end(),
                    [](const Resource& r) { return std::isfinite(r.capacity.value); });
  // The two more are the costs of calls and those of graphs.
  total_ = static_cast<int>(machine.hops.size() + staging_relays(machine).size() + 2) +
           static_cast<int>(capacities);
}

void Calibrator::step() {
  if (progress_) progress_(++done_, total_);
}

std::string Calibrator::sentence(const std::string& how, double spread) const {
  return fmt::format("{}: {}; median of {}, spread {}.", measured_, how, sampler_.trust().repeats,
                     percent(spread));
}

void Calibrator::note_cost(Seconds CallCosts::*cost, Seconds value, const std::string& how) {
  const std::vector<CostField>& fields = cost_fields();
  const auto field = std::find_if(fields.begin(), fields.end(),
                                  [&](const CostField& each) { return each.value == cost; });
  result_.machine.costs.*cost = std::min(value, Seconds{kLongest});
  result_.provenance.costs[static_cast<std::size_t>(field - fields.begin())] = how;
}

void Calibrator::note_cost(Seconds CallCosts::*cost, const Cost& measured, const std::string& how) {
  note_cost(cost, measured.value, sentence(how, measured.spread));
}

void Calibrator::note_hop(const HopTimes& times) {
  const std::size_t index = times.hop.index();
  Hop& hop = result_.machine.hops[index];
  hop.latency = std::min(times.latency(), Seconds{kLongest});
  hop.bandwidth.value = std::clamp(times.bandwidth().value, kSlowest, kFastest);
  const std::string how = sentence(
      fmt::format(
          "chains of dependent copies of {} sizes from {} to {}, fit error {} from 1 MiB on",
          times.sizes.size(), format_bytes(times.sizes.front().bytes),
          format_bytes(times.sizes.back().bytes), percent(times.fit_error)),
      times.spread);
  result_.provenance.latencies[index] = how;
  result_.provenance.bandwidths[index] = how;
}

void Calibrator::measure_hops() {
  for (std::size_t h = 0; h < bench_.machine().hops.size(); ++h) {
    const HopId hop{static_cast<std::int32_t>(h)};
    hops_.push_back(measure_hop(bench_, sampler_, hop, stream_costs_.copy.value));
    note_hop(hops_.back());
    step();
  }
}

// The smallest copies say it best: little is subtracted from little.
void Calibrator::note_synchronize() {
  std::vector<double> left;
  for (const HopTimes& times : hops_) left.push_back(times.sizes.front().synchronize.value);
  const std::string how = fmt::format(
      "{}: one copy and the wait for it, less issue, latency and bytes; median over {} hops.",
      measured_, left.size());
  note_cost(&CallCosts::synchronize, Seconds{std::max(0.0, median(left))}, how);
}

void Calibrator::note_staging(const std::vector<StagingTimes>& times) {
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (!times[i].staging) {
      if (times[i].is_relay) note_missing_staging(i);
      continue;
    }
    Place& place = result_.machine.places[i];
    place.staging_latency = std::min(*times[i].staging, Seconds{kLongest});
    place.relay_latency = std::min(times[i].relay, Seconds{kLongest});
    result_.provenance.places[i] = sentence(
        fmt::format("single chunks over it, joined back into the caller's stream; {}", kHowBusy),
        times[i].spread);
  }
}

void Calibrator::note_missing_staging(std::size_t place) {
  result_.machine.places[place].staging_missing = true;
  result_.provenance.places[place] = fmt::format(
      "{}: staging latency not found: at each of {} tries single chunks over it took no longer "
      "than "
      "the copies in them, or what was left scattered by more than {:.0f} %. The nominal one "
      "stands "
      "here, and nothing is staged there; {}.",
      measured_, sampler_.trust().staging_tries, 100 * sampler_.trust().most_staging_spread,
      kHowBusy);
}

void Calibrator::note_graphs(const GraphCosts& costs) {
  const auto note = [&](const NodeCosts& found, Seconds CallCosts::*once,
                        Seconds CallCosts::*per_node, const std::string& what) {
    const std::string how =
        sentence(fmt::format("{} of 4 to 32 copies over two hops in turn, fit error {}", what,
                             percent(found.fit_error)),
                 found.spread);
    note_cost(once, found.once, how);
    note_cost(per_node, found.per_node, how);
  };
  note(costs.launch, &CallCosts::graph_launch, &CallCosts::graph_launch_node,
       "launch call of graphs");
  note(costs.instantiate, &CallCosts::graph_instantiate, &CallCosts::graph_instantiate_node,
       "instantiation of graphs");
  note_cost(&CallCosts::graph_update_node, costs.update_node, "calls in a row, one per node");
}

void Calibrator::note_capacities(const std::vector<CapacityFound>& found) {
  Machine& machine = result_.machine;
  for (std::size_t r = 0; r < found.size(); ++r) {
    const bool is_used = found[r].total.value > 0;  // that of a network is not, within a node
    if (!std::isfinite(machine.resources[r].capacity.value) || !is_used) continue;
    machine.resources[r].capacity.value = std::clamp(found[r].total.value, kSlowest, kFastest);
    const std::string how =
        found[r].copies == 1
            ? "one copy alone"
            : fmt::format("{} copies at once, median of seven runs", found[r].copies);
    const std::string_view what = found[r].is_limit ? "highest total seen" : kAtLeast;
    const std::string_view why =
        found[r].is_limit ? "" : "; something else always limits copies before this does";
    result_.provenance.resources[r] =
        fmt::format("{}: {}, of {}{}; spread within a run {}.", measured_, what, how, why,
                    percent(found[r].spread));
  }
}

// Where there is a burst, the highest total seen may have been a part of it.
void Calibrator::note_bursts(const std::vector<std::optional<BurstFound>>& found) {
  for (std::size_t r = 0; r < found.size(); ++r) {
    Resource& resource = result_.machine.resources[r];
    resource.burst = {};
    if (!found[r] || found[r]->burst.rate <= resource.capacity) continue;
    resource.capacity.value = std::clamp(found[r]->lasting.value, kSlowest, kFastest);
    resource.burst = found[r]->burst;
    const std::string how = sentence(
        "copies at once from a rest on, 8 and 16 MiB in all for the burst, 256 and 512 for what "
        "lasts",
        found[r]->spread);
    result_.provenance.resources[r] = result_.provenance.bursts[r] = how;
  }
}

void Calibrator::note_hold_up(const std::optional<Cost>& found) {
  result_.machine.costs.threads_hold_up = {};
  if (found)
    note_cost(&CallCosts::threads_hold_up, *found,
              "copies of 1, 4 and 16 MiB by two threads at the same time, beside one thread, for "
              "each of their two calls");
}

Calibration Calibrator::run() {
  stream_costs_ = measure_stream_costs(bench_, sampler_);
  note_cost(&CallCosts::copy, stream_costs_.copy, "calls in a row");
  note_cost(&CallCosts::event_record, stream_costs_.event_record, "calls in a row");
  note_cost(&CallCosts::event_wait, stream_costs_.event_wait,
            "calls in a row, for an event of another GPU's stream");
  note_hold_up(measure_threads_hold_up(bench_, sampler_));
  step();
  measure_hops();
  note_synchronize();
  note_staging(measure_staging(bench_, sampler_, hops_, stream_costs_,
                               result_.machine.costs.synchronize, [this] { step(); }));
  const std::vector<Seconds> busy = measure_busy(bench_, sampler_, hops_);
  for (std::size_t i = 0; i < busy.size(); ++i)
    result_.machine.places[i].busy_latency = std::min(busy[i], Seconds{kLongest});
  note_graphs(measure_graph_costs(bench_, sampler_));
  step();
  const auto capacities = measure_capacities(bench_, sampler_, hops_, [this] { step(); });
  note_capacities(capacities);
  note_bursts(measure_bursts(bench_, sampler_, hops_, capacities));
  const std::size_t nominal = result_.machine.description.find(kNotMeasured);
  if (nominal != std::string::npos)
    result_.machine.description.replace(nominal, std::string::npos, ", and measured.");
  validate(result_.machine);
  return std::move(result_);
}

}  // namespace

std::string consequence_of_missing(const std::string& place) {
  return fmt::format(
      "No plan stages anything at {}, because its staging latency was not found: run 'polypath "
      "calibrate' again when nothing else runs on the machine.",
      place);
}

std::string incompleteness(const Machine& machine) {
  const std::vector<std::string> places = machine.places_without_staging();
  if (places.empty()) return {};
  return "The calibration is incomplete. " + consequence_of_missing(join(places, ", "));
}

Calibration calibrate(Driver& driver, const Machine& nominal, const CalibrationOptions& options,
                      const Progress& progress) {
  validate(nominal);
  if (nominal.hops.empty())
    fail(ErrorCode::invalid_machine, fmt::format("machine '{}' has no hops", nominal.name),
         "there is nothing to measure", "Name another machine.");
  return Calibrator(driver, nominal, options, progress).run();
}

}  // namespace polypath::probe
