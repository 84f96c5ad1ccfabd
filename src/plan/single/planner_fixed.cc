// Plans whose paths, shares or chunk counts the caller or a table fixes.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "plan/single/explain.h"
#include "plan/single/planner.h"
#include "plan/single/planner_request.h"

namespace polypath {
namespace {

void check_shares(const std::map<std::string, double>& shares) {
  double sum = 0;
  for (const auto& [name, share] : shares) {
    if (!(share >= 0 && share <= 1))
      fail(ErrorCode::invalid_argument, fmt::format("share {}={} cannot be used", name, share),
           "it is a part of the message", "Correct it: each share lies in 0 to 1.");
    sum += share;
  }
  if (std::abs(sum - 1) > 1e-6)
    fail(ErrorCode::invalid_argument, "the shares do not add up to 1",
         fmt::format("each path carries its share of the message, and they make {:.6g}", sum),
         "Correct them.");
}

}  // namespace

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
  for (const std::string& name : options.paths)
    if (!marks.emplace(name, 1).second)
      fail(ErrorCode::invalid_argument, fmt::format("path '{}' is named twice", name),
           "a plan has it once or not at all", "Remove one of them.");
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
  check_shares(shares);
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

PlanPointer Planner::with_split(const Plan& plan, const Split& split) const {
  const PlanOptions options;
  const ConcurrentTransfers alone;
  const Request request{plan.source, plan.destination, plan.bytes, &options, &alone};
  const Optimiser exact = optimiser(request, plan.executor(), plan.bytes);
  Draft draft;
  for (const PathShape& part : plan.shape.paths) {
    const auto share = split.shares.find(name_of(machine(), part.path));
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
  const Explainer explainer(predictor_, plan,
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

// Before anything is planned: a plan that turns out to be one native copy has no chunks to count.
void Planner::check_chunks(const Request& request) const {
  const PlanOptions& options = *request.options;
  for (const auto& [name, count] : options.chunks) {
    if (count < 1 || count > 1 << 20)
      fail(ErrorCode::invalid_argument,
           fmt::format("chunk count {}={} cannot be used", name, count),
           "a path carries at least one chunk", "Give a count from 1 to 1048576.");
    const std::string resolved = resolve(machine(), request.source, request.destination, name);
    const auto same = [&](const std::string& other) {
      return resolve(machine(), request.source, request.destination, other) == resolved;
    };
    if (resolved != "direct") (void)machine().find_place(resolved);
    if (options.forced() && std::ranges::none_of(options.path_names(), same))
      fail(ErrorCode::invalid_argument,
           fmt::format("chunk count of path '{}' cannot be used", name),
           fmt::format("the plan has {}", fmt::join(options.path_names(), ", ")),
           "Leave it out, or add the path.");
  }
}

void Planner::apply_chunks(const Request& request, Draft& draft) const {
  const Machine& machine = predictor_.machine();
  for (const auto& [name, count] : request.options->chunks) {
    const std::string resolved = resolve(machine, request.source, request.destination, name);
    for (PathDraft& part : draft.paths)
      if (name_of(machine, part.path) == resolved) part.chunks = count, part.taper = 0;
  }
}

}  // namespace polypath
