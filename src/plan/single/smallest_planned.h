#pragma once
// From which size on messages are planned, where no setting says so.

#include <cstddef>
#include <optional>
#include <tuple>
#include <vector>

#include "plan/lru_cache.h"
#include "plan/single/allowed_paths.h"
#include "plan/single/plan_model.h"
#include "plan/single/planner_request.h"
#include "plan/single/plans_alone.h"

namespace polypath::plan {

struct FoundPlans;

class SmallestPlanned {
 public:
  SmallestPlanned(const PlanModel& model, const AllowedPaths& paths, PlansAlone& alone);

  /// As Planner::smallest_planned.
  [[nodiscard]] Bytes of(PlaceId source, PlaceId destination, Bytes bytes,
                         const PlanOptions& options);
  /// As Planner::least_smallest_planned.
  [[nodiscard]] Bytes least() const;

  /// As those of Planner (joint/found_plans.cc).
  void recall(const FoundPlans& found);
  void add_found(FoundPlans& all) const;
  [[nodiscard]] std::size_t searches() const { return searches_; }

 private:
  using Key = std::tuple<PlaceId, PlaceId, std::optional<Executor>, LeftOutRelays>;

  [[nodiscard]] Bytes search(PlannerRequest& request);
  [[nodiscard]] std::vector<Bytes> sizes_that_may_gain(const PlannerRequest& request) const;

  const PlanModel& model_;
  const AllowedPaths& paths_;
  PlansAlone& alone_;
  LruCache<Key, Bytes> smallest_;
  std::size_t searches_ = 0;
};

}  // namespace polypath::plan
