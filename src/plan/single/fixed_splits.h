#pragma once
// Drafts whose paths, shares or chunk counts the caller or a table fixes.

#include <map>
#include <optional>
#include <string>

#include "plan/single/plan_model.h"
#include "plan/single/planner_request.h"
#include "plan/single/splitter.h"
#include "plan/tuned.h"

namespace polypath::plan {

class FixedSplits {
 public:
  /// Reads the table that the settings name. Error (invalid_setting) if it cannot be used.
  explicit FixedSplits(const PlanModel& model);

  /// The table's draft, if it has one for the request.
  [[nodiscard]] std::optional<Draft> tuned(const PlannerRequest& request, Executor executor) const;
  /// The draft over the paths or with the shares that the caller asks for. Errors as Planner::plan.
  [[nodiscard]] Draft forced(const PlannerRequest& request, Executor executor) const;
  /// Error (invalid_argument) for chunk counts that no plan could have. Before anything is planned:
  /// a plan that turns out to be one native copy has no chunks to count.
  void check_chunks(const PlannerRequest& request) const;
  /// Gives the draft's paths the chunk counts that the caller asks for.
  void apply_chunks(const PlannerRequest& request, Draft& draft) const;

 private:
  [[nodiscard]] Draft with_shares(const PlannerRequest& request, const Splitter& splitter,
                                  const std::map<std::string, double>& shares,
                                  const std::map<std::string, int>& chunks) const;

  const PlanModel& model_;
  TunedTable tuned_;
};

}  // namespace polypath::plan
