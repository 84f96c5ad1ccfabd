#include "plan/single/plan_model.h"

#include <algorithm>

namespace polypath::plan {
namespace {

// Of small messages several paths take up to 10 us longer than predicted (1 MiB from the host to an
// H200, results/h200x4), twice what is asked for elsewhere.
constexpr double kSureGainOfSmall = 2;

// The gain that a plan must have for certain beside its mirror image.
Seconds sure_gain(const DriverBehaviour& driver, BothWays both_ways) {
  switch (both_ways) {
    case BothWays::by_threads: return driver.least_gain_two_threads;
    case BothWays::by_one_thread: return driver.least_gain_one_thread;
    case BothWays::no:
    case BothWays::by_processes: return driver.least_gain;
  }
  return driver.least_gain;
}

bool has_bursts(const Machine& machine) {
  return std::any_of(machine.resources.begin(), machine.resources.end(),
                     [](const Resource& resource) { return resource.burst.size.value > 0; });
}

Machine without_bursts(Machine machine) {
  for (Resource& resource : machine.resources) resource.burst = {};
  return machine;
}

}  // namespace

PlanModel::PlanModel(const Machine& machine, const Settings& settings)
    : settings_(settings), predictor_(machine) {
  if (has_bursts(machine)) lasting_ = std::make_unique<SeenAs>(without_bursts(machine));
  if (machine.costs.threads_hold_up.value > 0)
    held_up_ = std::make_unique<SeenAs>(held_up(without_bursts(machine)));
}

const Predictor& PlanModel::predictor(BothWays issued) const {
  if (issued == BothWays::by_threads && held_up_) return held_up_->predictor;
  return issued != BothWays::no && lasting_ ? lasting_->predictor : predictor_;
}

// The transfers in flight may have used up the burst credit.
const Predictor& PlanModel::predictor_beside(const PlannerRequest& request) const {
  const BothWays both_ways = request.options->both_ways;
  if (request.concurrent->empty() || both_ways != BothWays::no || !lasting_)
    return predictor(both_ways);
  return lasting_->predictor;
}

Splitter PlanModel::splitter(const PlannerRequest& request, Executor executor, Bytes bytes) const {
  const DraftLimits limits{{settings_.min_chunk, settings_.staging_slot},
                           settings_.staging_slots,
                           settings_.max_paths,
                           request.options->both_ways != BothWays::no};
  return {predictor(request.options->both_ways), limits, executor, bytes};
}

Draft PlanModel::native(const PlannerRequest& request) const {
  Draft draft{{PathDraft{request.paths.front(), 1, 1, 0}}, {}};
  splitter(request, Executor::native, request.bytes).evaluate(draft);
  return draft;
}

// Several paths only where they gain more than the model may be off.
Seconds PlanModel::to_beat(const Path& direct, Bytes bytes, Seconds native,
                           BothWays both_ways) const {
  const DriverBehaviour& driver = machine().driver;
  double gain = settings_.min_gain;
  if (machine().hop(direct.first).kind == HopKind::driver_staged &&
      bytes < driver.driver_staged_steps_below)
    gain = std::max(gain, driver.least_gain_driver_staged);
  Seconds sure = sure_gain(driver, both_ways);
  if (!settings_.min_message && bytes < kAlwaysPlanned) sure = sure * kSureGainOfSmall;
  return std::min(native * (1 / (1 + gain)), native - sure);
}

Load PlanModel::load_of(const ConcurrentTransfers& concurrent) const {
  Load load;
  for (const ConcurrentTransfer& each : concurrent) {
    const auto hop = machine().find_hop(each.source, each.destination);
    if (each.plan) add_rates(predictor_.resources(), each.plan->shape, load);
    else if (hop) add_rates(predictor_.resources(), direct_copy({*hop, {}}, each.bytes), load);
  }
  return load;
}

}  // namespace polypath::plan
