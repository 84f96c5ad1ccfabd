#pragma once
// The plans that an engine works with, made in the call that needs one or in the background.
//
// To make a plan takes up to some milliseconds, as much as a copy of 2 GiB between two GPUs
// (results/h200x2/first_copies.json). Where a call must not take so long, the first copy of its
// kind goes without one.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "core/background.h"
#include "core/settings.h"
#include "plan/joint/found_plans.h"
#include "plan/joint/joint.h"
#include "plan/pieces/piece_planner.h"
#include "plan/single/planner.h"
#include "plan/single/rebalanced.h"

namespace polypath {

/// The key of a plan.
struct PlanRequest {
  PlaceId source;
  PlaceId destination;
  Bytes bytes;
  PlanOptions options;
  ConcurrentTransfers concurrent = {};
};

/// The key of a joint plan.
struct JointRequest {
  std::vector<JointTransfer> transfers;
  JointOptions options;

  auto operator<=>(const JointRequest&) const = default;
};

/// A plan to be split otherwise.
using SplitRequest = std::tuple<PlanPointer, Shares, double>;

/// Results of the background, by request: plans, as pointers, and sizes. Thread-safe; never waits.
template <class Key, class Pointer>
class KnownPlans {
 public:
  explicit KnownPlans(std::size_t most) : known_(most) {}

  /// The plan if it is known; if not, null, and the background is given the `task` that makes it,
  /// unless it has it already or has too many.
  template <class Task>
  Pointer find(const Key& key, Background& background, Task task) {
    // A program whose copies are all of different sizes must not fill the memory with wishes.
    constexpr std::size_t kMostWanted = 64;
    const std::scoped_lock lock(mutex_);
    if (const Pointer* known = known_.find(key)) return *known;
    if (wanted_.size() < kMostWanted && wanted_.insert(key).second)
      background.post([this, key, make = task()] { insert(key, make()); });
    return Pointer{};
  }

 private:
  void insert(const Key& key, Pointer plan) {
    const std::scoped_lock lock(mutex_);
    known_.insert(key, std::move(plan));
    wanted_.erase(key);
  }

  std::mutex mutex_;  ///< held for moments only
  LruCache<Key, Pointer> known_;
  std::set<Key> wanted_;
};

/// Thread-safe.
class Plans {
 public:
  /// Searches store their results in the keeper, and the results stored there are read before the
  /// first search. Errors as Planner's.
  Plans(const Machine& machine, const Settings& settings,
        std::shared_ptr<PlanKeeper> keeper = nullptr);

  /// As Planner::plan, at once: waits while another one is being made.
  PlanPointer make(const PlanRequest& request);
  /// The plan if it is known; if not, null, and it is made in the background. Null for ever if it
  /// cannot be made. Never waits.
  PlanPointer find(const PlanRequest& request, Background& background);
  /// The same for a set of transfers.
  JointPlanPointer make(const JointRequest& request);
  JointPlanPointer find(const JointRequest& request, Background& background);
  /// The same for sets of pieces.
  PieceRecipePointer make(const PieceRequest& request);
  PieceRecipePointer find(const PieceRequest& request, Background& background);

  /// The plan with another split, as Planner::with_split.
  PlanPointer make(const SplitRequest& request);
  PlanPointer find(const SplitRequest& request, Background& background);

  /// As rebalance_shares. Never waits.
  std::optional<LevelledShares> level(const Plan& plan, std::span<const Seconds> measured,
                                      double damping);
  /// As Planner::least_smallest_planned.
  Bytes least_smallest();
  /// Gives the keeper what was found since the last time. For the background, or the end: a file
  /// may be written.
  void keep() noexcept;
  /// Planner::smallest_planned for a request; the second one is kAlwaysPlanned until the background
  /// has found it, and for ever if it cannot.
  Bytes make_smallest(const PlanRequest& request);
  Bytes find_smallest(const PlanRequest& request, Background& background);

 private:
  using Key = std::tuple<PlaceId, PlaceId, Bytes, PlanOptions, ConcurrentTransfers>;
  using SmallestKey = std::tuple<PlaceId, PlaceId, std::optional<Executor>, LeftOutRelays>;

  [[nodiscard]] static Key key_of(const PlanRequest& request);
  template <class Request>
  [[nodiscard]] auto task_of(const Request& request, Background& background);
  [[nodiscard]] std::unique_lock<std::mutex> start_planning();
  [[nodiscard]] std::size_t searches() const;
  void keep_later(Background& background);

  std::shared_ptr<PlanKeeper> keeper_;
  std::mutex planning_;        ///< held while a plan is made
  bool has_recalled_ = false;  ///< what the keeper has
  std::size_t kept_searches_ = 0;
  std::atomic<bool> will_keep_{false};
  Planner planner_;
  JointPlanner joint_planner_;
  PiecePlanner piece_planner_;
  /// Beside the planners' own caches, which cannot be read while a plan is made.
  KnownPlans<Key, PlanPointer> known_;
  KnownPlans<JointRequest, JointPlanPointer> known_joint_;
  KnownPlans<SplitRequest, PlanPointer> known_split_;
  LruCache<SplitRequest, PlanPointer> splits_;  ///< made in the call
  KnownPlans<PieceRequest, PieceRecipePointer> known_pieces_;
  KnownPlans<SmallestKey, std::optional<Bytes>> known_smallest_;
};

}  // namespace polypath
