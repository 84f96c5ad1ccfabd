#pragma once
// Drafts over the paths that pay, found once for all transfers of a size class: recipes.

#include <cstddef>
#include <tuple>

#include "plan/lru_cache.h"
#include "plan/single/allowed_paths.h"
#include "plan/single/fixed_splits.h"
#include "plan/single/plan_model.h"
#include "plan/single/planner_request.h"

namespace polypath::plan {

struct FoundPlans;

class Recipes {
 public:
  Recipes(const PlanModel& model, const AllowedPaths& paths, const FixedSplits& fixed);

  /// The draft of the table or the recipe, with the caller's chunk counts.
  [[nodiscard]] Draft automatic(const PlannerRequest& request, Executor executor);

  /// As those of Planner (joint/found_plans.cc).
  void recall(const FoundPlans& found);
  void add_found(FoundPlans& all) const;
  [[nodiscard]] std::size_t searches() const { return searches_; }

 private:
  using Key = std::tuple<PlaceId, PlaceId, Bytes, PlanOptions, LoadSignature, Executor>;

  [[nodiscard]] Draft recipe(const PlannerRequest& request, Executor executor);

  const PlanModel& model_;
  const AllowedPaths& paths_;
  const FixedSplits& fixed_;
  LruCache<Key, Draft> recipes_;
  std::size_t searches_ = 0;
};

}  // namespace polypath::plan
