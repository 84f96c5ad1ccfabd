#pragma once
// Plans that are made in the background, and found once they are there.
//
// To make a plan takes up to some milliseconds, as much as a copy of 2 GiB between two GPUs
// (results/h200x2/first_copies.json). Where a call must not take so long, the first copy of its
// kind goes without one.

#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/background.h"
#include "core/settings.h"
#include "engine/planning/plans.h"
#include "plan/lru_cache.h"

namespace polypath::engine {

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

/// Thread-safe; never waits. The background must be stopped before this goes.
class BackgroundPlans {
 public:
  /// Beside the planners' own caches, which cannot be read while a plan is made.
  BackgroundPlans(const Settings& settings, Plans& plans, Background& background);

  /// The plan if it is known; if not, null, and it is made in the background. Null for ever if it
  /// cannot be made.
  PlanPointer find(const PlanRequest& request);
  PlanPointer find(const SplitRequest& request);
  JointPlanPointer find(const JointRequest& request);
  PieceRecipePointer find(const PieceRequest& request);
  /// As Plans::make_smallest, but kAlwaysPlanned until the background has found it, and for ever if
  /// it cannot.
  Bytes find_smallest(const PlanRequest& request);

 private:
  using Key = std::tuple<PlaceId, PlaceId, Bytes, PlanOptions, ConcurrentTransfers, OwnEnds>;
  using SmallestKey = std::tuple<PlaceId, PlaceId, std::optional<Executor>, LeftOutRelays>;

  template <class Request>
  [[nodiscard]] auto task_of(const Request& request);
  void keep_later();

  Plans& plans_;
  Background& background_;
  std::atomic<bool> will_keep_{false};
  KnownPlans<Key, PlanPointer> known_;
  KnownPlans<SplitRequest, PlanPointer> known_split_;
  KnownPlans<JointRequest, JointPlanPointer> known_joint_;
  KnownPlans<PieceRequest, PieceRecipePointer> known_pieces_;
  KnownPlans<SmallestKey, std::optional<Bytes>> known_smallest_;
};

}  // namespace polypath::engine
