#include "plan/single/engine_turns.h"

#include <algorithm>
#include <map>

namespace polypath::plan {
namespace {

// A plan this near to the share program's time has little to gain by another order.
constexpr double kLostByTurns = 1.05;

}  // namespace

bool EngineTurns::hold_up_others(const Draft& draft, const Path& direct) const {
  const ResourceModel& resources = splitter_.predictor().resources();
  return std::any_of(draft.paths.begin(), draft.paths.end(), [&](const PathDraft& part) {
    return part.path.staged() && (resources.exclude_each_other(part.path.first, direct.first) ||
                                  resources.exclude_each_other(part.path.second, direct.first));
  });
}

bool EngineTurns::are_taken(const Draft& draft) const {
  const Machine& machine = splitter_.predictor().machine();
  std::map<ResourceId, int> wanted;
  TransferShape shape;
  for (const PathDraft& part : draft.paths) shape.paths.push_back({part.path, {}});
  for (const TransferShape& each : splitter_.together(shape))
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
std::vector<Use> EngineTurns::claims_of_all_ways(const Path& path) const {
  std::vector<Use> sum;
  for (const TransferShape& each : splitter_.together({splitter_.executor(), {{path, {}}}}))
    for (const Use& use : splitter_.predictor().resources().claims(each.paths.front().path)) {
      const auto same = std::find_if(
          sum.begin(), sum.end(), [&](const Use& other) { return other.resource == use.resource; });
      if (same == sum.end()) sum.push_back(use);
      else same->weight += use.weight;
    }
  return sum;
}

// The time by the share program: there engines have capacities, but no path waits for its turn.
Seconds EngineTurns::time_without_turns(const std::vector<Path>& paths) const {
  std::vector<SharedPath> problem;
  for (const PathDraft& part : splitter_.closed_form_split(paths).paths)
    problem.push_back(
        {splitter_.linear_time_of(part, problem.size()), claims_of_all_ways(part.path)});
  return solve_shares(problem, splitter_.predictor().resources().capacities(), splitter_.bytes(),
                      splitter_.limits().chunks.smallest)
      .time;
}

bool EngineTurns::lose_time(const Draft& best, const std::vector<Path>& paths) const {
  Draft all;
  for (const Path& path : paths) all.paths.push_back({.path = path});
  return are_taken(all) && best.prediction.time > time_without_turns(paths) * kLostByTurns;
}

void EngineTurns::reorder(Draft& draft) const {
  if (draft.paths.size() < 2 || !are_taken(draft)) return;
  Draft best = draft;
  const auto consider = [&](Draft trial) {
    splitter_.equalise(trial, 2, Effort::replay);
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

}  // namespace polypath::plan
