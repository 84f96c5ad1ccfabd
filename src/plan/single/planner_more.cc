// One more path than the recipe has: the recipe is of another size, and its search does not look at
// every set of paths. The reasons for leaving out a path are found on the way.

#include <fmt/format.h>

#include <algorithm>

#include "plan/single/planner.h"
#include "plan/single/planner_request.h"

namespace polypath {
namespace {

bool has(const Draft& draft, const Path& path) {
  return std::any_of(draft.paths.begin(), draft.paths.end(),
                     [&](const PathDraft& part) { return part.path == path; });
}

}  // namespace

// Not where the caller, a table or others in flight have a say.
bool Planner::may_add_paths(const Request& request) const {
  const PlanOptions& options = *request.options;
  return may_split(request) && !options.asks_for_paths() && request.concurrent->empty() &&
         options.both_ways != BothWays::by_one_thread &&
         !tuned(request, options.executor.value_or(Executor::stream));
}

// Adds paths to what was chosen, one after another, as long as one is worth it.
void Planner::add_paths(Request& request, Draft& chosen, Executor& executor) const {
  if (!may_add_paths(request)) return;
  const std::vector<Path> allowed = candidates(request);
  while (chosen.paths.size() < static_cast<std::size_t>(settings_.max_paths) &&
         std::any_of(allowed.begin(), allowed.end(), [&](const Path& path) {
           return !has(chosen, path) && add_path(request, path, chosen, executor);
         })) {
  }
}

// True if it was.
bool Planner::add_path(Request& request, const Path& path, Draft& chosen,
                       Executor& executor) const {
  const bool native = executor == Executor::native;
  const Executor tried = native ? executor_of_more(request) : executor;
  const Optimiser exact = optimiser(request, tried, request.bytes);
  Draft more = exact.with_path(chosen, path);
  request.with_one_more[path] = more.prediction.time;
  const Seconds now = chosen.prediction.time;
  if (native ? more.prediction.time >= to_beat_natively(request, now)
             : !is_worth_a_path(more, chosen))
    return false;
  exact.equalise_well(more);
  chosen = std::move(more);
  executor = tried;
  request.with_one_more.clear();
  return true;
}

// How several paths would run where one native copy is chosen.
Executor Planner::executor_of_more(const Request& request) {
  return request.options->executor == Executor::graph ? Executor::graph : Executor::stream;
}

// Why one path more is not taken though it may be a candidate; empty if its time decided.
std::string Planner::why_no_more(const Request& request, const Draft& chosen,
                                 const Path& path) const {
  if (std::string reason = barred(request, path); !reason.empty()) return reason;
  if (path.staged() && !is_selected(request, path)) return "left out by the settings";
  if (request.options->executor == Executor::native) return "one native copy was asked for";
  if (chosen.paths.size() >= static_cast<std::size_t>(settings_.max_paths))
    return fmt::format("a plan has no more than {} path{} (POLYPATH_MAX_PATHS)",
                       settings_.max_paths, settings_.max_paths == 1 ? "" : "s");
  return request.concurrent->empty() ? "" : not_beside(request, path);
}

}  // namespace polypath
