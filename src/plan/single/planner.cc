#include "plan/single/planner.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "plan/single/explain.h"

namespace polypath::plan {
namespace {

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

Settings checked(const Machine& machine, const Settings& settings) {
  check_places(machine, "POLYPATH_PATHS", settings.include);
  check_places(machine, "POLYPATH_EXCLUDE", settings.exclude);
  return settings;
}

}  // namespace

Planner::Planner(const Machine& machine, const Settings& settings)
    : model_(machine, checked(machine, settings)),
      plans_(static_cast<std::size_t>(settings.plan_cache)) {}

PlanPointer Planner::plan(PlaceId source, PlaceId destination, Bytes bytes,
                          const PlanOptions& options, const ConcurrentTransfers& concurrent) {
  PlanKey key{source, destination, bytes, options, concurrent};
  if (const PlanPointer* cached = plans_.find(key)) return *cached;
  PlannerRequest request{source, destination, bytes, &options, &concurrent, {}, {}, {}, {}};
  request.load =
      signature_of(model_.load_of(concurrent), model_.predictor().resources().capacities());
  return plans_.insert(key, make_plan(request));
}

std::string Planner::why_not(PlaceId source, PlaceId destination, const Path& path,
                             const PlanOptions& options) const {
  if (!path.staged()) return "";
  return paths_.why_not(
      PlannerRequest{
          .source = source, .destination = destination, .bytes = {}, .options = &options},
      path);
}

void Planner::recall(const FoundPlans& found) {
  recipes_.recall(found);
  smallest_.recall(found);
}

void Planner::add_found(FoundPlans& all) const {
  recipes_.add_found(all);
  smallest_.add_found(all);
}

PlanPointer Planner::make_plan(PlannerRequest& request) {
  check_size(request.bytes);
  fixed_.check_chunks(request);
  request.paths = joining_paths(model_.machine(), request.source, request.destination);
  request.smallest =
      smallest_.of(request.source, request.destination, request.bytes, *request.options);
  auto plan = std::make_shared<Plan>();
  plan->source = request.source, plan->destination = request.destination;
  plan->bytes = request.bytes;

  plan->native_predicted = model_.native(request).prediction.time;
  Executor executor = Executor::native;
  Draft chosen = choose(request, executor);
  more_.add(request, chosen, executor);
  finish(request, chosen, executor, *plan);
  explain(request, chosen, *plan);
  return plan;
}

void Planner::finish(const PlannerRequest& request, const Draft& chosen, Executor executor,
                     Plan& plan) const {
  plan.shape = model_.splitter(request, executor, request.bytes).shape_of(chosen);
  plan.program = program_of(model_.machine(), plan.shape, model_.settings().staging_slots);
  plan.program.assign_events();
  plan.structure = structure_of(plan.program);
  plan.predicted = chosen.prediction.time;
}

// The fastest draft that the options allow; `executor` becomes the one it needs.
Draft Planner::choose(PlannerRequest& request, Executor& executor) {
  const bool alone =
      request.concurrent->empty() && request.options->both_ways != BothWays::by_one_thread;
  return alone || request.options->forced() ? alone_.choose(request, executor)
                                            : beside_.choose(request, executor);
}

// Why one path more is not taken though it may be a candidate; empty if its time decided.
std::string Planner::why_no_more(const PlannerRequest& request, const Draft& chosen,
                                 const Path& path) const {
  if (std::string reason = paths_.why_not(request, path); !reason.empty()) return reason;
  if (request.options->executor == Executor::native) return "one native copy was asked for";
  if (chosen.paths.size() >= static_cast<std::size_t>(model_.settings().max_paths))
    return fmt::format("a plan has no more than {} path{} (POLYPATH_MAX_PATHS)",
                       model_.settings().max_paths, model_.settings().max_paths == 1 ? "" : "s");
  return request.concurrent->empty() ? "" : why_not_beside(request, path);
}

void Planner::explain(const PlannerRequest& request, const Draft& chosen, Plan& plan) const {
  const bool is_native = plan.executor() == Executor::native;
  const Splitter exact = model_.splitter(
      request, is_native ? executor_of_more(request) : plan.executor(), request.bytes);
  const Seconds native = plan.native_predicted;
  const auto time_with = [&](const Path& path) {
    const auto known = request.with_one_more.find(path);
    return PlanGrounds::With{known != request.with_one_more.end()
                                 ? known->second
                                 : exact.with_path(chosen, path).prediction.time};
  };
  const Explainer explainer(model_.predictor(request.options->both_ways), plan,
                            {.least_gain = native - model_.to_beat(request, native),
                             .smallest_planned = request.smallest,
                             .in_use = paths_of(chosen),
                             .time_with = time_with});
  for (const Path& path : request.paths)
    plan.decisions.push_back(explainer.decide(
        path, chosen.prediction, why_no_more(request, chosen, path), request.options->forced()));
}

PlanPointer Planner::with_split(const Plan& plan, const Split& split) const {
  const PlanOptions options;
  const ConcurrentTransfers alone;
  const PlannerRequest request{plan.source, plan.destination, plan.bytes, &options, &alone};
  const Splitter exact = model_.splitter(request, plan.executor(), plan.bytes);
  Draft draft;
  for (const PathShape& part : plan.shape.paths) {
    const auto share = split.shares.find(name_of(model_.machine(), part.path));
    if (!split.shares.empty() && share == split.shares.end()) continue;
    const int equal = static_cast<int>(part.chunks.size()) - part.taper;
    draft.paths.push_back(
        {.path = part.path,
         .share = split.shares.empty() ? part.bytes().real() / plan.bytes.real() : share->second,
         .chunks = std::max(1.0, equal * split.chunks),
         .taper = part.taper});
  }
  exact.evaluate(draft);
  auto changed = std::make_shared<Plan>(plan);
  finish(request, draft, plan.executor(), *changed);
  explain_split(draft.prediction, *changed);
  return changed;
}

// Paths that were in the plan stay in its reasons.
void Planner::explain_split(const Prediction& prediction, Plan& plan) const {
  const Explainer explainer(model_.predictor(), plan,
                            {.least_gain = {},
                             .smallest_planned = {},
                             .in_use = {},
                             .time_with = {},
                             .asked = "as measured"});
  for (PathDecision& decision : plan.decisions) {
    if (!decision.included) continue;
    decision = explainer.decide(decision.path, prediction, {}, true);
    if (!decision.included) decision.reason = "with the measured shares it would carry nothing";
  }
}

}  // namespace polypath::plan
