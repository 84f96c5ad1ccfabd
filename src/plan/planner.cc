#include "plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text.h"
#include "plan/explain.h"
#include "plan/load.h"

namespace polypath {

/// A request with everything that follows from it.
struct Planner::Request {
  PlaceId source;
  PlaceId destination;
  Bytes bytes;
  const PlanOptions* options = nullptr;
  const Companions* company = nullptr;
  LoadSignature load;         // what they take
  std::vector<Path> paths;    // all there are, direct first
  std::vector<Path> harmful;  // some plan over them would have harmed the companions
};

namespace {

// What the driver stages itself goes in steps of its own, which a line through the times of large
// copies misses by up to this in small ones (results/h200x4/put_without_peer_access.json).
constexpr double kStepsOfTheDriver = 0.08;
constexpr Bytes kStepsMatterBelow = 8_MiB;

// Two threads that issue one way each hold each other up in the driver: on four H200 such transfers
// ended 10 to 20 us later than predicted, whatever their size. Those of two processes did not.
constexpr Seconds kHeldUp = 20_us;

// What predictions of two plans may differ by though they are as good.
constexpr double kNoHarm = 1.002;
constexpr double kClearlyLess = 0.98;

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

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool allows(ExecutorChoice choice, Executor executor) {
  if (choice == ExecutorChoice::automatic) return true;
  return (choice == ExecutorChoice::graph) == (executor == Executor::graph);
}

// "host" means the host place nearest to the GPU that sends, else to the one that receives.
std::string resolve(const Machine& machine, PlaceId source, PlaceId destination,
                    const std::string& name) {
  if (name != "host") return name;
  const bool from_gpu = machine.place(source).kind == PlaceKind::gpu;
  const PlaceId host = machine.nearest_host(from_gpu ? source : destination);
  return host.valid() ? machine.place(host).name : name;
}

std::optional<LeftOutBecause> left_out(const Machine& machine, const Path& path,
                                       const LeftOutRelays& relays) {
  if (!path.staged()) return std::nullopt;
  return relays.reason(staging_place(machine, path));
}

bool rests_on_missing(const Machine& machine, const Path& path) {
  return path.staged() && machine.place(staging_place(machine, path)).staging_missing;
}

// True for a split by the caller or by a table that stages bytes where nothing may be.
bool uses_left_out(const Machine& machine, const Draft& draft, const LeftOutRelays& relays) {
  return std::any_of(draft.paths.begin(), draft.paths.end(), [&](const PathDraft& part) {
    return left_out(machine, part.path, relays).has_value();
  });
}

}  // namespace

Planner::Planner(const Machine& machine, const Settings& settings)
    : settings_(settings),
      predictor_(machine),
      plans_(static_cast<std::size_t>(settings.plan_cache)),
      recipes_(static_cast<std::size_t>(settings.plan_cache)) {
  check_places(machine, "POLYPATH_PATHS", settings.include);
  check_places(machine, "POLYPATH_EXCLUDE", settings.exclude);
  if (!settings.tuned.empty()) tuned_ = read_tuned(settings.tuned);
  check_tuned(machine, tuned_);
}

PlanPointer Planner::plan(PlaceId source, PlaceId destination, Bytes bytes,
                          const PlanOptions& options, const Companions& company) {
  PlanKey key{source, destination, bytes, options, company};
  if (const PlanPointer* cached = plans_.find(key)) return *cached;
  Request request{source, destination, bytes, &options, &company, {}, {}, {}};
  request.load = signature_of(load_of(company), predictor_.resources().capacities());
  return plans_.insert(key, make_plan(request));
}

Load Planner::load_of(const Companions& company) const {
  Load load;
  for (const Companion& each : company) {
    const auto hop = machine().find_hop(each.source, each.destination);
    if (each.plan) add_rates(predictor_.resources(), each.plan->shape, load);
    else if (hop) add_rates(predictor_.resources(), direct_copy({*hop, {}}, each.bytes), load);
  }
  return load;
}

PlanPointer Planner::make_plan(Request& request) {
  const Machine& machine = predictor_.machine();
  if (request.bytes.value == 0)
    fail(ErrorCode::invalid_argument, "size is 0", "there is nothing to plan",
         "Give a size of at least one byte.");
  request.paths = find_paths(machine, request.source, request.destination);
  if (request.paths.empty() || request.paths.front().staged())
    fail(ErrorCode::invalid_argument,
         fmt::format("no copy leads from {} to {}", machine.place(request.source).name,
                     machine.place(request.destination).name),
         fmt::format("machine '{}' has no hop between them", machine.name),
         "Choose two different places that its 'info' lists as joined.");
  auto plan = std::make_shared<Plan>();
  plan->source = request.source, plan->destination = request.destination;
  plan->bytes = request.bytes;
  plan->slots = settings_.staging_slots, plan->slot_bytes = settings_.staging_slot;

  plan->native_predicted = native(request).prediction.time;
  Executor executor = Executor::native;
  const Draft chosen = choose(request, executor);
  plan->shape = optimiser(request, executor, request.bytes).shape_of(chosen);
  plan->nodes = build_nodes(plan->shape, plan->slots);
  plan->structure = structure_of(plan->nodes);
  plan->predicted = chosen.prediction.time;
  explain(request, chosen, *plan);
  return plan;
}

Optimiser Planner::optimiser(const Request& request, Executor executor, Bytes bytes) const {
  const OptimiserLimits limits{{settings_.min_chunk, settings_.staging_slot},
                               settings_.staging_slots,
                               settings_.max_paths,
                               request.options->both_ways != BothWays::no};
  return {predictor_, limits, predictor_.resources().capacities(), executor, bytes};
}

Draft Planner::native(const Request& request) const {
  Draft draft{{PathDraft{request.paths.front(), 1, 1, 0}}, {}};
  optimiser(request, Executor::native, request.bytes).evaluate(draft);
  return draft;
}

// The fastest of what the options allow; `executor` becomes the one it needs.
Draft Planner::choose(Request& request, Executor& executor) {
  const bool alone =
      request.company->empty() && request.options->both_ways != BothWays::by_one_thread;
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
    to_beat = draft.prediction.time - kWorthwhile;  // a graph may need new addresses each time
    best = std::move(draft);
    executor = option;
  }
  return best;
}

bool Planner::may_split(const Request& request) const {
  if (request.options->executor == ExecutorChoice::native) return false;
  if (request.company->size() > kMostCompanions) return false;
  return request.options->forced() || request.bytes >= settings_.min_message;
}

// The fastest that nobody, itself included, has to regret; while it is unknown who follows, the one
// that is regretted least, if that is clearly less than the native copy. Company changes too often
// for graphs to be launched again.
Draft Planner::choose_beside(Request& request, Executor& executor) {
  const Together together(predictor_, *request.company, request.paths.front(), request.bytes,
                          request.options->both_ways, settings_.staging_slots);
  Draft best{{PathDraft{request.paths.front(), 1, 1, 0}}, {}};
  const auto natively = together.of(direct_copy(request.paths.front(), request.bytes));
  best.prediction = natively.own;
  executor = Executor::native;
  const bool chained = takes_turns_in_a_chain(machine(), *request.company, request.paths.front());
  if (chained || !may_split(request) || !allows(request.options->executor, Executor::stream))
    return best;
  const bool repairs = request.options->followers_unknown;
  double least = repairs ? std::max(natively.regret, kNoHarm) : kNoHarm;
  Seconds to_beat = to_beat_natively(request, natively.own.time);
  const Optimiser exact = optimiser(request, Executor::stream, request.bytes);
  for (Draft& draft : drafts_beside(request)) {
    const auto outcome = together.of(exact.shape_of(draft));
    const double regret = std::max(outcome.regret, kNoHarm);
    if (regret > least) note_harm(request, draft);
    // One thread that issues them all again and again must keep up.
    const Seconds all_calls = outcome.own.call * together.issued_by_one_thread();
    const bool gains = std::max(outcome.own.time, all_calls) < to_beat;
    if (regret > least || !(repairs ? regret < least * kClearlyLess : gains)) continue;
    least = regret;
    to_beat = outcome.own.time - kWorthwhile;
    draft.prediction = outcome.own;
    best = std::move(draft);
    executor = Executor::stream;
  }
  return best;
}

// What it would do alone, and over paths that others leave room for.
std::vector<Draft> Planner::drafts_beside(const Request& request) {
  Request alone = request;
  alone.load.clear();
  std::vector<Draft> drafts{automatic(alone, Executor::stream)};
  if (!request.load.empty()) drafts.push_back(automatic(request, Executor::stream));
  std::erase_if(drafts, [](const Draft& draft) {
    return draft.paths.size() == 1 && !draft.paths.front().path.staged();
  });
  return drafts;
}

void Planner::note_harm(Request& request, const Draft& draft) {
  for (const PathDraft& part : draft.paths)
    if (part.path.staged()) request.harmful.push_back(part.path);
}

// Several paths only where they gain more than the model may be off.
Seconds Planner::to_beat_natively(const Request& request, Seconds native) const {
  const Hop& direct = predictor_.machine().hop(request.paths.front().first);
  double gain = settings_.min_gain;
  if (direct.kind == HopKind::driver_staged && request.bytes < kStepsMatterBelow)
    gain = std::max(gain, kStepsOfTheDriver);
  const bool held_up = request.options->both_ways == BothWays::by_threads;
  return std::min(native * (1 / (1 + gain)), native - (held_up ? kHeldUp : kWorthwhile));
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
  Draft best = optimiser(request, executor, bytes).best_subset(candidates(request));
  return recipes_.insert(key, std::move(best));
}

// The direct path and every other that the settings allow and that nothing bars.
std::vector<Path> Planner::candidates(const Request& request) const {
  std::vector<Path> allowed{request.paths.front()};
  for (const Path& path : request.paths)
    if (path.staged() && is_selected(request, path) && barred(request, path).empty())
      allowed.push_back(path);
  return allowed;
}

// By the settings.
bool Planner::is_selected(const Request& request, const Path& path) const {
  const std::string name = name_of(machine(), path);
  const auto listed = [&](const std::vector<std::string>& names) {
    return contains(names, name) ||
           (contains(names, "host") &&
            name == resolve(machine(), request.source, request.destination, "host"));
  };
  return (settings_.include.empty() || listed(settings_.include)) && !listed(settings_.exclude);
}

// Why a path must not be used, as words; empty if it may be. A path must not slow down a transfer
// that is in flight already: on a loaded resource there must be room for its whole rate.
std::string Planner::barred(const Request& request, const Path& path) const {
  if (const auto why = left_out(machine(), path, request.options->left_out))
    return fmt::format("left out by the engine: {}", describe(*why));
  if (rests_on_missing(machine(), path) && !request.options->forced())
    return fmt::format(
        "the calibration found no staging latency of {}, and no plan rests on a nominal one (run "
        "'polypath calibrate' again when nothing else runs on the machine)",
        name_of(machine(), path));
  if (!request.options->forced() && overloads(predictor_, path, request.load))
    return "a transfer in flight already fills what it would use";
  return "";
}

// Why a path that others leave room for is not taken beside them.
std::string Planner::not_beside(const Request& request, const Path& path) const {
  const auto& harmful = request.harmful;
  if (std::find(harmful.begin(), harmful.end(), path) != harmful.end())
    return "with it a transfer in flight or expected, or this one, would end later than natively";
  return "it gains nothing beside the transfers in flight or expected";
}

std::optional<Draft> Planner::tuned(const Request& request, Executor executor) const {
  const Machine& machine = predictor_.machine();
  if (tuned_.machine != machine.name || !request.load.empty()) return std::nullopt;
  const TunedEntry* entry =
      tuned_.find(machine.place(request.source).name, machine.place(request.destination).name,
                  request.bytes, executor);
  if (entry == nullptr) return std::nullopt;
  Draft draft = with_shares(request, optimiser(request, executor, request.bytes), entry->shares,
                            entry->chunks);
  if (uses_left_out(machine, draft, request.options->left_out)) return std::nullopt;
  for (const PathDraft& part : draft.paths)
    if (rests_on_missing(machine, part.path)) return std::nullopt;
  return draft;
}

Draft Planner::forced(const Request& request, Executor executor) const {
  const Optimiser exact = optimiser(request, executor, request.bytes);
  const PlanOptions& options = *request.options;
  if (!options.shares.empty()) return with_shares(request, exact, options.shares, options.chunks);
  std::map<std::string, double> marks;
  for (const std::string& name : options.paths) marks[name] = 1;
  std::vector<Path> paths;
  for (const auto& [path, mark] :
       named_paths(predictor_.machine(), request.source, request.destination, marks))
    paths.push_back(path);
  Draft draft = exact.closed_form(paths);
  apply_chunks(request, draft);
  exact.evaluate(draft);
  return draft;
}

Draft Planner::with_shares(const Request& request, const Optimiser& exact,
                           const std::map<std::string, double>& shares,
                           const std::map<std::string, int>& chunks) const {
  double sum = 0;
  for (const auto& [name, share] : shares) sum += share >= 0 && share <= 1 ? share : 2;
  if (std::abs(sum - 1) > 1e-6)
    fail(ErrorCode::invalid_argument, "the shares do not add up to 1",
         "each path carries its share of the message", "Correct them: each lies in 0 to 1.");
  Draft draft;
  const auto paths = named_paths(predictor_.machine(), request.source, request.destination, shares);
  for (const auto& [path, share] : paths) {
    const Bytes bytes{static_cast<std::uint64_t>(share * request.bytes.real())};
    draft.paths.push_back({path, share, exact.chunk_count(path, bytes), 0});
  }
  Request with_chunks = request;
  PlanOptions options = *request.options;
  options.chunks = chunks;
  with_chunks.options = &options;
  apply_chunks(with_chunks, draft);
  exact.evaluate(draft);
  return draft;
}

void Planner::apply_chunks(const Request& request, Draft& draft) const {
  const Machine& machine = predictor_.machine();
  for (const auto& [name, count] : request.options->chunks) {
    const std::string resolved = resolve(machine, request.source, request.destination, name);
    if (count < 1 || count > 1 << 20)
      fail(ErrorCode::invalid_argument,
           fmt::format("chunk count {}={} cannot be used", name, count),
           "a path carries at least one chunk", "Give a count from 1 to 1048576.");
    if (resolved != "direct") (void)machine.find_place(resolved);
    for (PathDraft& part : draft.paths)
      if (name_of(machine, part.path) == resolved) part.chunks = count, part.taper = 0;
  }
}

void Planner::explain(const Request& request, const Draft& chosen, Plan& plan) const {
  const Optimiser exact =
      optimiser(request, plan.executor() == Executor::native ? Executor::stream : plan.executor(),
                request.bytes);
  const Seconds native = plan.native_predicted;
  Explainer explainer(predictor_, exact, settings_, plan,
                      native - to_beat_natively(request, native));
  for (const Path& path : request.paths) {
    std::string why_not = barred(request, path);
    if (why_not.empty() && !request.company->empty()) why_not = not_beside(request, path);
    plan.decisions.push_back(explainer.decide(path, chosen, why_not, request.options->forced()));
  }
}

}  // namespace polypath
