#pragma once
// Makes the plans that an engine works with: of copies, of sets of them, of pieces, and those with
// another split.

#include <compare>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "core/settings.h"
#include "engine/planning/plans_by_owners.h"
#include "plan/joint/found_plans.h"
#include "plan/joint/joint.h"
#include "plan/lru_cache.h"
#include "plan/pieces/piece_planner.h"
#include "plan/single/planner.h"
#include "plan/single/rebalanced.h"

namespace polypath::engine {

/// The key of a plan.
struct PlanRequest {
  PlaceId source;
  PlaceId destination;
  Bytes bytes;
  PlanOptions options;
  ConcurrentTransfers concurrent = {};
  OwnEnds own = {};
};

/// The key of a joint plan.
struct JointRequest {
  std::vector<JointTransfer> transfers;
  JointOptions options;

  auto operator<=>(const JointRequest&) const = default;
};

/// A plan to be split otherwise.
using SplitRequest = std::tuple<PlanPointer, Shares, double>;

/// Thread-safe.
class Plans {
 public:
  /// Searches store their results in the keeper, and the results stored there are read before the
  /// first search. Errors as Planner's.
  Plans(const Machine& machine, const Settings& settings,
        std::shared_ptr<PlanKeeper> keeper = nullptr);

  /// As Planner::plan, at once: waits while another one is being made.
  PlanPointer make(const PlanRequest& request);
  /// The same for a set of transfers, and for sets of pieces.
  JointPlanPointer make(const JointRequest& request);
  PieceRecipePointer make(const PieceRequest& request);
  /// The plan with another split, as Planner::with_split.
  PlanPointer make(const SplitRequest& request);
  /// As Planner::smallest_planned and Planner::least_smallest_planned.
  Bytes make_smallest(const PlanRequest& request);
  Bytes least_smallest();

  /// The plan, which may be part of a joint one, for such ends. Never waits.
  PlanPointer by_owners(const PlanPointer& plan, OwnEnds own) { return by_owners_.of(plan, own); }

  /// As rebalance_shares. Never waits.
  std::optional<LevelledShares> level(const Plan& plan, std::span<const Seconds> measured,
                                      double damping);
  /// Gives the keeper what was found since the last time. For the background, or the end: a file
  /// may be written.
  void keep() noexcept;
  [[nodiscard]] bool has_keeper() const { return keeper_ != nullptr; }

 private:
  [[nodiscard]] std::unique_lock<std::mutex> start_planning();
  [[nodiscard]] std::size_t searches() const;

  std::shared_ptr<PlanKeeper> keeper_;
  std::mutex planning_;        ///< held while a plan is made
  bool has_recalled_ = false;  ///< what the keeper has
  std::size_t kept_searches_ = 0;
  Planner planner_;
  JointPlanner joint_planner_;
  PiecePlanner piece_planner_;
  LruCache<SplitRequest, PlanPointer> splits_;
  PlansByOwners by_owners_;
};

}  // namespace polypath::engine
