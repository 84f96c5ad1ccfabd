#pragma once
// Which paths a plan may use.

#include <string>
#include <vector>

#include "plan/options.h"
#include "plan/single/draft.h"
#include "plan/single/plan_model.h"
#include "plan/single/planner_request.h"

namespace polypath::plan {

/// "host" means the host place nearest to the GPU that sends, else to the one that receives. Other
/// names stay.
std::string resolve(const Machine& machine, PlaceId source, PlaceId destination,
                    const std::string& name);

/// True if the path stages where the calibration found no latency.
bool rests_on_missing(const Machine& machine, const Path& path);

/// True for a split by the caller or by a table that stages bytes where nothing may be.
bool uses_left_out(const Machine& machine, const Draft& draft, const LeftOutRelays& relays);

class AllowedPaths {
 public:
  explicit AllowedPaths(const PlanModel& model) : model_(model) {}

  /// The direct path and every other that the settings allow and that nothing bars. Relays that are
  /// equally good are taken in turn from the transfer's own GPU on: the ranks of a node, which each
  /// choose for themselves, else had contexts and staging memory on the same few.
  [[nodiscard]] std::vector<Path> of(const PlannerRequest& request) const;
  /// As Planner::usable_paths.
  [[nodiscard]] std::vector<Path> of(PlaceId source, PlaceId destination,
                                     const PlanOptions& options) const;
  /// Why a plan must not use the path, as words; empty if it may.
  [[nodiscard]] std::string why_not(const PlannerRequest& request, const Path& path) const;

 private:
  [[nodiscard]] bool is_selected(const PlannerRequest& request, const Path& path) const;
  [[nodiscard]] std::string barred(const PlannerRequest& request, const Path& path) const;

  const PlanModel& model_;
};

}  // namespace polypath::plan
