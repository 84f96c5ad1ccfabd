#include "engine/plans.h"

#include <string>

#include "core/error.h"
#include "core/log.h"

namespace polypath {

Plans::Plans(const Machine& machine, const Settings& settings)
    : planner_(machine, settings),
      joint_planner_(planner_),
      piece_planner_(planner_),
      known_(static_cast<std::size_t>(settings.plan_cache)),
      known_joint_(static_cast<std::size_t>(settings.plan_cache)),
      known_split_(static_cast<std::size_t>(settings.plan_cache)),
      splits_(static_cast<std::size_t>(settings.plan_cache)),
      known_pieces_(static_cast<std::size_t>(settings.plan_cache)),
      known_smallest_(static_cast<std::size_t>(settings.plan_cache)) {}

PlanPointer Plans::make(const PlanRequest& request) {
  const std::scoped_lock lock(planning_);
  return planner_.plan(request.source, request.destination, request.bytes, request.options,
                       request.companions);
}

JointPlanPointer Plans::make(const JointRequest& request) {
  const std::scoped_lock lock(planning_);
  return joint_planner_.plan(request.transfers, request.options);
}

PlanPointer Plans::make(const SplitRequest& request) {
  const std::scoped_lock lock(planning_);
  if (const PlanPointer* known = splits_.find(request)) return *known;
  const auto& [plan, shares, chunks] = request;
  return splits_.insert(request, planner_.with_split(*plan, {shares, chunks}));
}

// That looks at nothing of the planner that changes.
std::optional<LevelledShares> Plans::level(const Plan& plan, std::span<const Seconds> measured,
                                           double damping) {
  return level_shares(planner_, plan, measured, damping);
}

PieceRecipePointer Plans::make(const PieceRequest& request) {
  const std::scoped_lock lock(planning_);
  return piece_planner_.recipe(request);
}

// What cannot be planned is known as null, and not tried again.
template <class Request>
auto Plans::task_of(const Request& request) {
  return [this, request]() -> decltype(make(request)) {
    try {
      return make(request);
    } catch (const std::exception& error) {
      log(LogLevel::info, std::string("copies cannot be planned: ") + error.what());
      return nullptr;
    }
  };
}

PlanPointer Plans::find(const PlanRequest& request, Background& background) {
  return known_.find(key_of(request), background, [&] { return task_of(request); });
}

JointPlanPointer Plans::find(const JointRequest& request, Background& background) {
  return known_joint_.find(request, background, [&] { return task_of(request); });
}

PlanPointer Plans::find(const SplitRequest& request, Background& background) {
  return known_split_.find(request, background, [&] { return task_of(request); });
}

PieceRecipePointer Plans::find(const PieceRequest& request, Background& background) {
  return known_pieces_.find(request, background, [&] { return task_of(request); });
}

Bytes Plans::make_smallest(const PlanRequest& request) {
  const std::scoped_lock lock(planning_);
  return planner_.smallest_planned(request.source, request.destination, request.bytes,
                                   request.options);
}

Bytes Plans::least_smallest() {
  const std::scoped_lock lock(planning_);
  return planner_.least_smallest_planned();
}

Bytes Plans::find_smallest(const PlanRequest& request, Background& background) {
  const PlanOptions& options = request.options;
  const SmallestKey key{request.source, request.destination, options.executor, options.left_out};
  const auto task = [&] {
    return [this, request]() -> std::optional<Bytes> {
      try {
        return make_smallest(request);
      } catch (const std::exception& error) {
        log(LogLevel::info, std::string("small copies cannot be planned: ") + error.what());
        return kAlwaysPlanned;
      }
    };
  };
  return known_smallest_.find(key, background, task).value_or(kAlwaysPlanned);
}

Plans::Key Plans::key_of(const PlanRequest& request) {
  return {request.source, request.destination, request.bytes, request.options, request.companions};
}

}  // namespace polypath
