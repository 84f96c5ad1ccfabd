#pragma once
// Joint planners with their machines, and short ways to write what is asked of them.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "machine/load_machine.h"
#include "plan/joint/joint.h"
#include "support/layers.h"

namespace polypath::test {

struct JointRig {
  explicit JointRig(const std::string& name) : JointRig(load_machine(name)) {}
  explicit JointRig(Machine described, const Settings& settings = {})
      : machine(std::move(described)), planner(machine, settings), joint(planner) {}

  JointPlanPointer plan(const std::vector<JointTransfer>& transfers, Issuers issuers,
                        std::optional<Executor> executor = std::nullopt) {
    return joint.plan(transfers, {.issuers = issuers, .executor = executor});
  }

  Machine machine;
  Planner planner;
  JointPlanner joint;
};

/// From one GPU to another, by their numbers.
inline JointTransfer between(int source, int destination, Bytes bytes) {
  return {{source}, {destination}, bytes};
}

inline double gain(const JointPlan& joint) { return joint.native_predicted / joint.predicted; }

/// The largest factor by which a transfer ends later than natively.
inline double regret(const JointPlan& joint) {
  double worst = 0;
  for (const PlanPointer& plan : joint.plans)
    worst = std::max(worst, plan->predicted / plan->native_predicted);
  return worst;
}

/// What a plan gives to the path of that name; 0 if it has none.
inline double share(const Plan& plan, const std::string& name) {
  for (const PathDecision& decision : plan.decisions)
    if (decision.name == name) return decision.share;
  return 0;
}

}  // namespace polypath::test
