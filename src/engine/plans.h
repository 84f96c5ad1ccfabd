#pragma once
// The plans that an engine works with, made in the call that needs one or in the background.
//
// To make a plan takes up to some milliseconds, as much as a copy of 2 GiB between two GPUs
// (results/h200x2/first_copies.json). Where nobody may be held up for so long, the first copy of
// its kind goes without one.

#include <mutex>
#include <set>
#include <tuple>

#include "core/background.h"
#include "core/settings.h"
#include "plan/planner.h"

namespace polypath {

/// What a plan is asked for.
struct PlanRequest {
  PlaceId source;
  PlaceId destination;
  Bytes bytes;
  PlanOptions options;
  Companions companions = {};
};

/// Thread-safe.
class Plans {
 public:
  /// Errors as Planner's.
  Plans(const Machine& machine, const Settings& settings);

  /// As Planner::plan, at once: waits while another one is being made.
  PlanPointer make(const PlanRequest& request);
  /// The plan if it is known; if not, null, and it is made in the background. Null for ever if it
  /// cannot be made. Never waits.
  PlanPointer find(const PlanRequest& request, Background& background);

  [[nodiscard]] const Predictor& predictor() const { return planner_.predictor(); }

 private:
  using Key = std::tuple<PlaceId, PlaceId, Bytes, PlanOptions, Companions>;

  [[nodiscard]] static Key key_of(const PlanRequest& request);
  void make_known(const PlanRequest& request, const Key& key) noexcept;

  std::mutex planning_;  ///< held while a plan is made
  Planner planner_;
  std::mutex mutex_;  ///< held for moments only; guards what follows
  /// Beside the planner's own cache, which nobody can ask while a plan is made.
  LruCache<Key, PlanPointer> known_;
  std::set<Key> wanted_;
};

}  // namespace polypath
