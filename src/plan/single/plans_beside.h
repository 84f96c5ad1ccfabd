#pragma once
// The draft for a transfer beside others (contention.h).

#include <optional>
#include <string>
#include <vector>

#include "plan/single/contention.h"
#include "plan/single/plan_model.h"
#include "plan/single/planner_request.h"
#include "plan/single/recipes.h"

namespace polypath::plan {

class PlansBeside {
 public:
  PlansBeside(const PlanModel& model, Recipes& recipes) : model_(model), recipes_(recipes) {}

  /// The fastest draft with regret 1 for all transfers, itself included; while the next transfers
  /// are unknown, the one with the least regret, if that is clearly less than the native copy's.
  /// `executor` becomes the one it needs, and the request knows which paths would have harmed.
  [[nodiscard]] Draft choose(PlannerRequest& request, Executor& executor);

 private:
  [[nodiscard]] std::optional<Draft> split(PlannerRequest& request, const Together& together,
                                           const Together::Outcome& natively);
  [[nodiscard]] std::vector<Draft> drafts(const PlannerRequest& request);

  const PlanModel& model_;
  Recipes& recipes_;
};

/// Why a path that others leave room for is not taken beside them.
std::string why_not_beside(const PlannerRequest& request, const Path& path);

}  // namespace polypath::plan
