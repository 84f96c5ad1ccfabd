#pragma once
// From a request to a plan: which paths, which shares and chunks, which executor, and why.

#include <string>
#include <tuple>
#include <vector>

#include "plan/lru_cache.h"
#include "plan/options.h"
#include "plan/plan.h"
#include "plan/single/allowed_paths.h"
#include "plan/single/contention.h"
#include "plan/single/fixed_splits.h"
#include "plan/single/more_paths.h"
#include "plan/single/plan_model.h"
#include "plan/single/planner_request.h"
#include "plan/single/plans_alone.h"
#include "plan/single/plans_beside.h"
#include "plan/single/recipes.h"
#include "plan/single/smallest_planned.h"
#include "plan/split.h"

namespace polypath::plan {

struct FoundPlans;

/// Plans transfers on one machine. Not thread-safe; the engine guards it.
class Planner {
 public:
  /// Error (invalid_setting) if the settings name a path or file that cannot be used.
  Planner(const Machine& machine, const Settings& settings);

  /// The plan for `bytes` from `source` to `destination`, which harms none of the concurrent
  /// transfers (contention.h). Plans are cached: the same request beside the same transfers gives
  /// the same object.
  /// Errors (invalid_argument): no hop between the places, zero bytes, unknown or unusable paths,
  /// shares that do not add up to 1.
  PlanPointer plan(PlaceId source, PlaceId destination, Bytes bytes,
                   const PlanOptions& options = {}, const ConcurrentTransfers& concurrent = {});

  /// A plan for the same with another split, whether that is predicted to gain or not. Not cached.
  /// Nothing changes in what the plan's paths may be.
  [[nodiscard]] PlanPointer with_split(const Plan& plan, const Split& split) const;
  /// Smaller messages between the places are one native copy: the size in the settings, else the
  /// smallest size for which several paths are worth it on an idle machine, kAlwaysPlanned at most.
  /// That is found once, by a few plans, when first one of less than that is asked for: `bytes`.
  Bytes smallest_planned(PlaceId source, PlaceId destination, Bytes bytes,
                         const PlanOptions& options = {}) {
    return smallest_.of(source, destination, bytes, options);
  }
  /// A size below which that is known without a plan: no pair of places has a smaller one.
  [[nodiscard]] Bytes least_smallest_planned() const { return smallest_.least(); }

  /// Takes the results of another planner of the same machine and settings (found_plans.h) in place
  /// of searches; results that cannot be used are left out.
  void recall(const FoundPlans& found);
  /// Adds what was found so far, for transfers that nothing else is beside.
  void add_found(FoundPlans& all) const;
  /// How often something was searched for that add_found adds.
  [[nodiscard]] std::size_t searches() const { return recipes_.searches() + smallest_.searches(); }

  /// The paths that a plan on an idle machine may use, the direct one first. Errors as plan().
  [[nodiscard]] std::vector<Path> usable_paths(PlaceId source, PlaceId destination,
                                               const PlanOptions& options = {}) const {
    return paths_.of(source, destination, options);
  }
  /// Why such a plan must not use a path; empty if it may.
  [[nodiscard]] std::string why_not(PlaceId source, PlaceId destination, const Path& path,
                                    const PlanOptions& options = {}) const;
  /// The time that a plan over several paths must beat to replace the native copy.
  [[nodiscard]] Seconds to_beat(const Path& direct, Bytes bytes, Seconds native,
                                BothWays both_ways) const {
    return model_.to_beat(direct, bytes, native, both_ways);
  }
  [[nodiscard]] const Predictor& predictor() const { return model_.predictor(); }
  /// The predictor for a transfer whose mirror image is issued like that, or for a set. Threads
  /// hold each other up. Concurrent transfers recur, so that no burst credit is left.
  [[nodiscard]] const Predictor& predictor(BothWays issued) const {
    return model_.predictor(issued);
  }
  [[nodiscard]] const Machine& machine() const { return model_.machine(); }
  [[nodiscard]] const Settings& settings() const { return model_.settings(); }
  [[nodiscard]] std::size_t cached_plans() const { return plans_.size(); }

 private:
  using PlanKey = std::tuple<PlaceId, PlaceId, Bytes, PlanOptions, ConcurrentTransfers>;

  [[nodiscard]] PlanPointer make_plan(PlannerRequest& request);
  [[nodiscard]] Draft choose(PlannerRequest& request, Executor& executor);
  void finish(const PlannerRequest& request, const Draft& chosen, Executor executor,
              Plan& plan) const;
  [[nodiscard]] std::string why_no_more(const PlannerRequest& request, const Draft& chosen,
                                        const Path& path) const;
  void explain(const PlannerRequest& request, const Draft& chosen, Plan& plan) const;
  void explain_split(const Prediction& prediction, Plan& plan) const;

  PlanModel model_;
  AllowedPaths paths_{model_};
  FixedSplits fixed_{model_};
  Recipes recipes_{model_, paths_, fixed_};
  PlansAlone alone_{model_, fixed_, recipes_};
  PlansBeside beside_{model_, recipes_};
  MorePaths more_{model_, paths_, fixed_};
  SmallestPlanned smallest_{model_, paths_, alone_};
  LruCache<PlanKey, PlanPointer> plans_;
};

}  // namespace polypath::plan
