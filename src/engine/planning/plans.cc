#include "engine/planning/plans.h"

#include <string>
#include <utility>

#include "core/error.h"
#include "core/log.h"

namespace polypath::engine {

Plans::Plans(const Machine& machine, const Settings& settings, std::shared_ptr<PlanKeeper> keeper)
    : keeper_(std::move(keeper)),
      planner_(machine, settings),
      joint_planner_(planner_),
      piece_planner_(planner_),
      splits_(static_cast<std::size_t>(settings.plan_cache)),
      by_owners_(machine, settings.staging_slots, static_cast<std::size_t>(settings.plan_cache)) {}

// A file is read for the first plan that is asked for, not for an engine that never needs one.
std::unique_lock<std::mutex> Plans::start_planning() {
  std::unique_lock lock(planning_);
  if (!keeper_ || has_recalled_) return lock;
  has_recalled_ = true;
  const FoundPlans found = keeper_->read();
  planner_.recall(found);
  joint_planner_.recall(found);
  return lock;
}

std::size_t Plans::searches() const { return planner_.searches() + joint_planner_.searches(); }

void Plans::keep() noexcept {
  if (!keeper_) return;
  try {
    std::unique_lock lock(planning_);
    if (searches() == kept_searches_) return;
    kept_searches_ = searches();
    FoundPlans found;
    planner_.add_found(found);
    joint_planner_.add_found(found);
    lock.unlock();
    keeper_->keep(found);
  } catch (const std::exception& error) {
    log(LogLevel::info, std::string("plans are not kept: ") + error.what());
  }
}

PlanPointer Plans::make(const PlanRequest& request) {
  const auto lock = start_planning();
  return by_owners(planner_.plan(request.source, request.destination, request.bytes,
                                 request.options, request.concurrent),
                   request.own);
}

JointPlanPointer Plans::make(const JointRequest& request) {
  const auto lock = start_planning();
  return joint_planner_.plan(request.transfers, request.options);
}

PlanPointer Plans::make(const SplitRequest& request) {
  const auto lock = start_planning();
  if (const PlanPointer* known = splits_.find(request)) return *known;
  const auto& [plan, shares, chunks] = request;
  return splits_.insert(request, planner_.with_split(*plan, {shares, chunks}));
}

// That looks at nothing of the planner that changes.
std::optional<LevelledShares> Plans::level(const Plan& plan, std::span<const Seconds> measured,
                                           double damping) {
  return rebalance_shares(planner_, plan, measured, damping);
}

PieceRecipePointer Plans::make(const PieceRequest& request) {
  const auto lock = start_planning();
  return piece_planner_.recipe(request);
}

Bytes Plans::make_smallest(const PlanRequest& request) {
  const auto lock = start_planning();
  return planner_.smallest_planned(request.source, request.destination, request.bytes,
                                   request.options);
}

Bytes Plans::least_smallest() {
  const auto lock = start_planning();
  return planner_.least_smallest_planned();
}

}  // namespace polypath::engine
