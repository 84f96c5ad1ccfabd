#include "plan/single/more_paths.h"

#include <algorithm>
#include <utility>

namespace polypath::plan {
namespace {

bool has(const Draft& draft, const Path& path) {
  return std::any_of(draft.paths.begin(), draft.paths.end(),
                     [&](const PathDraft& part) { return part.path == path; });
}

}  // namespace

// Not where the caller, a table or others in flight have a say.
bool MorePaths::may_add(const PlannerRequest& request) const {
  const PlanOptions& options = *request.options;
  return may_split(request) && !options.asks_for_paths() && request.concurrent->empty() &&
         options.both_ways != BothWays::by_one_thread &&
         !fixed_.tuned(request, options.executor.value_or(Executor::stream));
}

void MorePaths::add(PlannerRequest& request, Draft& chosen, Executor& executor) const {
  if (!may_add(request)) return;
  const std::vector<Path> allowed = paths_.of(request);
  while (chosen.paths.size() < static_cast<std::size_t>(model_.settings().max_paths) &&
         std::any_of(allowed.begin(), allowed.end(), [&](const Path& path) {
           return !has(chosen, path) && add(request, path, chosen, executor);
         })) {
  }
}

// True if it was.
bool MorePaths::add(PlannerRequest& request, const Path& path, Draft& chosen,
                    Executor& executor) const {
  const bool native = executor == Executor::native;
  const Executor tried = native ? executor_of_more(request) : executor;
  const Splitter exact = model_.splitter(request, tried, request.bytes);
  Draft more = exact.with_path(chosen, path);
  request.with_one_more[path] = more.prediction.time;
  const Seconds now = chosen.prediction.time;
  if (native ? more.prediction.time >= model_.to_beat(request, now)
             : !is_worth_a_path(more, chosen))
    return false;
  exact.equalise_well(more);
  chosen = std::move(more);
  executor = tried;
  request.with_one_more.clear();
  return true;
}

}  // namespace polypath::plan
