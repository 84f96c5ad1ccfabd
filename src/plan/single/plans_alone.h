#pragma once
// The draft for a transfer that nothing else runs beside, or that the caller fixes.

#include "plan/single/fixed_splits.h"
#include "plan/single/plan_model.h"
#include "plan/single/planner_request.h"
#include "plan/single/recipes.h"

namespace polypath::plan {

class PlansAlone {
 public:
  PlansAlone(const PlanModel& model, const FixedSplits& fixed, Recipes& recipes)
      : model_(model), fixed_(fixed), recipes_(recipes) {}

  /// The fastest draft that the options allow; `executor` becomes the one it needs. Forced paths
  /// need not beat the native copy.
  [[nodiscard]] Draft choose(const PlannerRequest& request, Executor& executor);

 private:
  const PlanModel& model_;
  const FixedSplits& fixed_;
  Recipes& recipes_;
};

}  // namespace polypath::plan
