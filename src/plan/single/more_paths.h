#pragma once
// One more path than the recipe has: the recipe is of another size, and its search does not look at
// every set of paths. The reasons for leaving out a path are found on the way.

#include "plan/single/allowed_paths.h"
#include "plan/single/fixed_splits.h"
#include "plan/single/plan_model.h"
#include "plan/single/planner_request.h"

namespace polypath::plan {

class MorePaths {
 public:
  MorePaths(const PlanModel& model, const AllowedPaths& paths, const FixedSplits& fixed)
      : model_(model), paths_(paths), fixed_(fixed) {}

  /// Adds paths to what was chosen, one after another, as long as one is worth it.
  void add(PlannerRequest& request, Draft& chosen, Executor& executor) const;

 private:
  [[nodiscard]] bool may_add(const PlannerRequest& request) const;
  [[nodiscard]] bool add(PlannerRequest& request, const Path& path, Draft& chosen,
                         Executor& executor) const;

  const PlanModel& model_;
  const AllowedPaths& paths_;
  const FixedSplits& fixed_;
};

}  // namespace polypath::plan
