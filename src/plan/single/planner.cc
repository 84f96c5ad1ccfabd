#include "plan/single/planner.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "plan/load.h"
#include "plan/single/explain.h"
#include "plan/single/planner_request.h"

namespace polypath {
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

void check_places(const Machine& machine, const char* variable,
                  const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    try {
      if (name != "direct") (void)machine.find_place(name);
    } catch (const Error& error) {
      fail(ErrorCode::invalid_setting, fmt::format("{} cannot be used", variable), error.what(),
           "Correct or unset it.");
    }
  }
}

// A table of this machine must name paths that it has, or the first copy would stumble.
void check_tuned(const Machine& machine, const TunedTable& table) {
  if (table.machine != machine.name) return;
  for (const TunedEntry& entry : table.entries) {
    try {
      const PlaceId source = machine.find_place(entry.source);
      const PlaceId destination = machine.find_place(entry.destination);
      (void)named_paths(machine, source, destination, entry.shares);
      (void)named_paths(machine, source, destination, {entry.chunks.begin(), entry.chunks.end()});
    } catch (const Error& error) {
      fail(ErrorCode::invalid_setting, "POLYPATH_TUNED cannot be used", error.what(),
           "Write the file anew with 'polypath tune --output'.");
    }
  }
}

}  // namespace

std::vector<Path> joining_paths(const Machine& machine, PlaceId source, PlaceId destination) {
  if (source == destination)
    fail(ErrorCode::invalid_argument,
         fmt::format("source and destination are both {}", machine.place(source).name),
         "a transfer joins two different places", "Name another place for one of them.");
  std::vector<Path> paths = find_paths(machine, source, destination);
  if (paths.empty() || paths.front().staged())
    fail(ErrorCode::invalid_argument,
         fmt::format("no copy leads from {} to {}", machine.place(source).name,
                     machine.place(destination).name),
         fmt::format("machine '{}' has no hop between them", machine.name),
         "Choose places that its 'info' lists as joined.");
  return paths;
}

void check_size(Bytes bytes) {
  if (bytes.value == 0)
    fail(ErrorCode::invalid_argument, "size is 0", "there is nothing to plan",
         "Give a size of at least one byte.");
  if (bytes > kMostPlanned)
    fail(ErrorCode::invalid_argument, fmt::format("size {} cannot be planned", bytes.value),
         fmt::format("no memory holds more than {} bytes", kMostPlanned.value), "Correct it.");
}

bool allows(std::optional<Executor> choice, Executor executor) {
  return !choice || (choice == Executor::graph) == (executor == Executor::graph);
}

Planner::Planner(const Machine& machine, const Settings& settings)
    : settings_(settings),
      predictor_(machine),
      plans_(static_cast<std::size_t>(settings.plan_cache)),
      recipes_(static_cast<std::size_t>(settings.plan_cache)),
      smallest_(static_cast<std::size_t>(settings.plan_cache)) {
  if (has_bursts(machine)) lasting_ = std::make_unique<SeenAs>(without_bursts(machine));
  if (machine.costs.threads_hold_up.value > 0)
    held_up_ = std::make_unique<SeenAs>(held_up(without_bursts(machine)));
  check_places(machine, "POLYPATH_PATHS", settings.include);
  check_places(machine, "POLYPATH_EXCLUDE", settings.exclude);
  if (!settings.tuned.empty()) tuned_ = read_tuned(settings.tuned);
  check_tuned(machine, tuned_);
}

PlanPointer Planner::plan(PlaceId source, PlaceId destination, Bytes bytes,
                          const PlanOptions& options, const ConcurrentTransfers& concurrent) {
  PlanKey key{source, destination, bytes, options, concurrent};
  if (const PlanPointer* cached = plans_.find(key)) return *cached;
  Request request{source, destination, bytes, &options, &concurrent, {}, {}, {}, {}};
  request.load = signature_of(load_of(concurrent), predictor_.resources().capacities());
  return plans_.insert(key, make_plan(request));
}

PlanPointer Planner::make_plan(Request& request) {
  check_size(request.bytes);
  check_chunks(request);
  request.paths = joining_paths(machine(), request.source, request.destination);
  request.smallest =
      smallest_planned(request.source, request.destination, request.bytes, *request.options);
  auto plan = std::make_shared<Plan>();
  plan->source = request.source, plan->destination = request.destination;
  plan->bytes = request.bytes;

  plan->native_predicted = native(request).prediction.time;
  Executor executor = Executor::native;
  Draft chosen = choose(request, executor);
  add_paths(request, chosen, executor);
  finish(request, chosen, executor, *plan);
  explain(request, chosen, *plan);
  return plan;
}

void Planner::finish(const Request& request, const Draft& chosen, Executor executor,
                     Plan& plan) const {
  plan.shape = optimiser(request, executor, request.bytes).shape_of(chosen);
  plan.program = program_of(machine(), plan.shape, settings_.staging_slots);
  plan.program.assign_events();
  plan.structure = structure_of(plan.program);
  plan.predicted = chosen.prediction.time;
}

const Predictor& Planner::predictor(BothWays issued) const {
  if (issued == BothWays::by_threads && held_up_) return held_up_->predictor;
  return issued != BothWays::no && lasting_ ? lasting_->predictor : predictor_;
}

// The transfers in flight may have used up the burst credit.
const Predictor& Planner::predictor_beside(const Request& request) const {
  const BothWays both_ways = request.options->both_ways;
  if (request.concurrent->empty() || both_ways != BothWays::no || !lasting_)
    return predictor(both_ways);
  return lasting_->predictor;
}

Optimiser Planner::optimiser(const Request& request, Executor executor, Bytes bytes) const {
  const OptimiserLimits limits{{settings_.min_chunk, settings_.staging_slot},
                               settings_.staging_slots,
                               settings_.max_paths,
                               request.options->both_ways != BothWays::no};
  return {predictor(request.options->both_ways), limits, executor, bytes};
}

Draft Planner::native(const Request& request) const {
  Draft draft{{PathDraft{request.paths.front(), 1, 1, 0}}, {}};
  optimiser(request, Executor::native, request.bytes).evaluate(draft);
  return draft;
}

// The fastest draft that the options allow; `executor` becomes the one it needs.
Draft Planner::choose(Request& request, Executor& executor) {
  const bool alone =
      request.concurrent->empty() && request.options->both_ways != BothWays::by_one_thread;
  return alone || request.options->forced() ? choose_alone(request, executor)
                                            : choose_beside(request, executor);
}

// Forced paths need not beat the native copy.
Draft Planner::choose_alone(const Request& request, Executor& executor) {
  Draft best = native(request);
  executor = Executor::native;
  if (!may_split(request)) return best;
  const bool is_forced = request.options->forced();
  Seconds to_beat =
      is_forced ? Seconds::infinity() : to_beat_natively(request, best.prediction.time);
  for (const Executor option : {Executor::stream, Executor::graph}) {
    if (!allows(request.options->executor, option)) continue;
    Draft draft = is_forced ? forced(request, option) : automatic(request, option);
    if (uses_left_out(machine(), draft, request.options->left_out)) continue;
    if (draft.prediction.time >= to_beat) continue;
    // A graph may need new addresses each time.
    to_beat = draft.prediction.time - machine().driver.least_gain;
    best = std::move(draft);
    executor = option;
  }
  return best;
}

bool Planner::may_split(const Request& request) const {
  if (request.options->executor == Executor::native) return false;
  if (request.concurrent->size() > kMostConcurrent) return false;
  return request.options->forced() || request.bytes >= request.smallest;
}

Seconds Planner::to_beat_natively(const Request& request, Seconds native) const {
  return to_beat(request.paths.front(), request.bytes, native, request.options->both_ways);
}

// Several paths only where they gain more than the model may be off.
Seconds Planner::to_beat(const Path& direct, Bytes bytes, Seconds native,
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

Draft Planner::automatic(const Request& request, Executor executor) {
  if (auto draft = tuned(request, executor)) return *std::move(draft);
  Draft draft = recipe(request, executor);
  const Optimiser exact = optimiser(request, executor, request.bytes);
  apply_chunks(request, draft);
  exact.evaluate(draft);
  return draft;
}

Draft Planner::recipe(const Request& request, Executor executor) {
  const Bytes bytes = size_class(request.bytes);
  PlanOptions options;
  options.both_ways = request.options->both_ways;
  options.left_out = request.options->left_out;
  const RecipeKey key{request.source, request.destination, bytes, options, request.load, executor};
  if (const Draft* cached = recipes_.find(key)) return *cached;
  if (request.load.empty() && options.left_out.empty()) ++searches_;
  Draft best = optimiser(request, executor, bytes).best_subset(candidates(request));
  return recipes_.insert(key, std::move(best));
}

void Planner::explain(const Request& request, const Draft& chosen, Plan& plan) const {
  const bool is_native = plan.executor() == Executor::native;
  const Optimiser exact =
      optimiser(request, is_native ? executor_of_more(request) : plan.executor(), request.bytes);
  const Seconds native = plan.native_predicted;
  const auto time_with = [&](const Path& path) {
    const auto known = request.with_one_more.find(path);
    return PlanGrounds::With{known != request.with_one_more.end()
                                 ? known->second
                                 : exact.with_path(chosen, path).prediction.time};
  };
  const Explainer explainer(predictor(request.options->both_ways), plan,
                            {.least_gain = native - to_beat_natively(request, native),
                             .smallest_planned = request.smallest,
                             .in_use = paths_of(chosen),
                             .time_with = time_with});
  for (const Path& path : request.paths)
    plan.decisions.push_back(explainer.decide(
        path, chosen.prediction, why_no_more(request, chosen, path), request.options->forced()));
}

}  // namespace polypath
