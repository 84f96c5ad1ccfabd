#pragma once
// Runs plans in lanes.

#include "engine/call/copy_call.h"
#include "engine/decide/decision.h"
#include "engine/execute/lanes.h"
#include "engine/execute/transfer.h"
#include "engine/planning/plan_finder.h"
#include "engine/prepare/preparer.h"

namespace polypath::engine {

/// Not thread-safe; the engine guards it.
class LaneRunner {
 public:
  LaneRunner(Lanes& lanes, PlanFinder& plans, Preparer& preparer, TransferIds& ids)
      : lanes_(lanes), plans_(plans), preparer_(preparer), ids_(ids) {}

  /// By which the decision's plan is to run, if there is room.
  [[nodiscard]] Executor executor_for(const Decision& decision) const;
  /// None: the decision's plan is enqueued, by `executor`. Else nothing of it is queued.
  [[nodiscard]] FallbackReason run(const Decision& decision, Executor& executor);
  /// The same for a transfer for which the lane is prepared and has room.
  [[nodiscard]] FallbackReason run_in(Lane& lane, const Transfer& transfer, Executor executor);

 private:
  [[nodiscard]] Lane* lane_for(const Decision& decision);
  [[nodiscard]] FallbackReason find_room(Lane& lane, const Decision& decision,
                                         Executor& executor) const;
  [[nodiscard]] FallbackReason run_timed(Lane& lane, Transfer& transfer, Executor executor,
                                         Measurement& measurement);

  Lanes& lanes_;
  PlanFinder& plans_;
  Preparer& preparer_;
  TransferIds& ids_;
};

}  // namespace polypath::engine
