// In which order a transfer's copies are issued, where they take turns at engines.

#include <algorithm>
#include <map>

#include "plan/single/optimiser.h"

namespace polypath {
namespace {

// A plan this near to the share program's time has little to gain by another order.
constexpr double kLostByTurns = 1.05;

}  // namespace

Draft with_last(Draft draft, const Path& path) {
  std::stable_partition(draft.paths.begin(), draft.paths.end(),
                        [&](const PathDraft& part) { return part.path != path; });
  return draft;
}

std::vector<Draft> other_orders(const Draft& draft) {
  std::vector<Draft> orders{draft};
  std::reverse(orders.front().paths.begin(), orders.front().paths.end());
  for (std::size_t p = 0; draft.paths.size() > 2 && p + 1 < draft.paths.size(); ++p)
    orders.push_back(with_last(draft, draft.paths[p].path));
  return orders;
}

// True if a staged path needs an engine that the direct copy, were it first, would keep to its end.
bool Optimiser::holds_up_others(const Draft& draft, const Path& direct) const {
  const ResourceModel& resources = predictor_.resources();
  return std::any_of(draft.paths.begin(), draft.paths.end(), [&](const PathDraft& part) {
    return part.path.staged() && (resources.exclude_each_other(part.path.first, direct.first) ||
                                  resources.exclude_each_other(part.path.second, direct.first));
  });
}

// Where the direct copy would keep staged paths from an engine to its end: drafts of the best 1, 2,
// 3, ... of them with the direct copy last, and without it.
std::vector<Draft> Optimiser::drafts_with_direct_last(std::vector<Path> staged,
                                                      const Path& direct) const {
  std::vector<Draft> drafts;
  std::erase(staged, direct);
  const std::size_t most = std::min(staged.size(), static_cast<std::size_t>(limits_.max_paths));
  for (std::size_t count = 1; count <= most; ++count) {
    std::vector<Path> subset(staged.begin(), staged.begin() + std::ptrdiff_t(count));
    Draft without = program_draft(subset);
    if (!holds_up_others(without, direct)) continue;
    drafts.push_back(polish(std::move(without)));
    if (count == static_cast<std::size_t>(limits_.max_paths)) continue;
    subset.insert(subset.begin(), direct);
    drafts.push_back(polish(with_last(program_draft(subset), direct)));
  }
  return drafts;
}

// True if some engine is wanted by more hops than it serves at a time.
bool Optimiser::takes_turns(const Draft& draft) const {
  const Machine& machine = predictor_.machine();
  std::map<ResourceId, int> wanted;
  TransferShape shape;
  for (const PathDraft& part : draft.paths) shape.paths.push_back({part.path, {}});
  for (const TransferShape& each : together(shape))
    for (const PathShape& part : each.paths)
      for (const HopId hop : {part.path.first, part.path.second})
        if (hop.valid())
          for (const Use& use : machine.hop(hop).uses) ++wanted[use.resource];
  return std::any_of(wanted.begin(), wanted.end(), [&](const auto& entry) {
    const int at_once = machine.resource(entry.first).copies_at_once;
    return at_once > 0 && entry.second > at_once;
  });
}

// Of the path, and of its mirror image if that is under way as well.
std::vector<Use> Optimiser::claims_of_all_ways(const Path& path) const {
  std::vector<Use> sum;
  for (const TransferShape& each : together({executor_, {{path, {}}}}))
    for (const Use& use : predictor_.resources().claims(each.paths.front().path)) {
      const auto same = std::find_if(
          sum.begin(), sum.end(), [&](const Use& other) { return other.resource == use.resource; });
      if (same == sum.end()) sum.push_back(use);
      else same->weight += use.weight;
    }
  return sum;
}

// The time by the share program: there engines have capacities, but no path waits for its turn.
Seconds Optimiser::time_without_turns(const std::vector<Path>& paths) const {
  std::vector<SharedPath> problem;
  for (const PathDraft& part : closed_form_split(paths).paths)
    problem.push_back({linear_time_of(part, problem.size()), claims_of_all_ways(part.path)});
  return solve_shares(problem, predictor_.resources().capacities(), bytes_, limits_.chunks.smallest)
      .time;
}

bool Optimiser::loses_time_by_turns(const Draft& best, const std::vector<Path>& paths) const {
  Draft all;
  for (const Path& path : paths) all.paths.push_back({.path = path});
  return takes_turns(all) && best.prediction.time > time_without_turns(paths) * kLostByTurns;
}

// The path that is issued first gets the engine first, and the direct copy keeps the engine to its
// end. A path that comes before it as one chunk does not have to wait for it.
void Optimiser::reorder(Draft& draft) const {
  if (draft.paths.size() < 2 || !takes_turns(draft)) return;
  Draft best = draft;
  const auto consider = [&](Draft trial) {
    equalise(trial, 2, Effort::replay);
    if (cost_of(trial) < cost_of(best)) best = std::move(trial);
  };
  std::vector<Draft> orders = other_orders(draft);
  for (const Draft& order : orders) consider(order);
  orders.push_back(draft);
  for (Draft& order : orders) {
    for (PathDraft& part : order.paths) part.chunks = 1;
    consider(std::move(order));
  }
  draft = std::move(best);
}

}  // namespace polypath
