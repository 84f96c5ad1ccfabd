#pragma once
// Decides how several copies that start together are done: each by itself, or by one plan for those
// that can have one.

#include "driver/driver.h"
#include "engine/decide/decider.h"
#include "engine/decide/piece_decider.h"
#include "engine/decide/recent_sets.h"
#include "engine/decide/set_decision.h"
#include "engine/load/load_tracker.h"
#include "engine/planning/plan_finder.h"

namespace polypath::engine {

/// Not thread-safe; the engine guards it.
class SetDecider {
 public:
  SetDecider(Driver& driver, const Settings& settings, PlanFinder& plans, LoadTracker& load,
             Decider& decider, PieceDecider& pieces);

  /// All that Engine::copy would refuse is refused here.
  void decide(SetDecision& many);
  /// True if the copies go as one stream of bytes, all of them.
  [[nodiscard]] bool decide_batch(SetDecision& many);
  /// Goes on to the next pieces of it: see PieceDecider.
  void decide_next_pieces(SetDecision& many) { pieces_.decide_next(many); }
  /// About one of them, in the stream of `call`.
  [[nodiscard]] Decision decide_one(const SetDecision& many, std::size_t number,
                                    const CopyCall& call);

  /// They were done like that.
  void remember(const SetDecision& many, std::span<const CopyResult> results);
  void forget(const SetDecision& many);

 private:
  [[nodiscard]] bool recall(SetDecision& many);
  void examine_all(SetDecision& many);
  [[nodiscard]] SetMember examine(const CopyCall& call, SeenBefore& seen);
  [[nodiscard]] bool is_joint(const SetMember& member, SeenBefore& seen);
  Bytes native_threshold(const SetMember& member, SeenBefore& seen);
  [[nodiscard]] bool may_be_joint(SetDecision& many);
  [[nodiscard]] JointPlanPointer joint_plan(SetDecision& many);
  [[nodiscard]] bool lacks_room(const JointPlan& joint, const SetDecision& many) const;

  Driver& driver_;
  PlanFinder& plans_;
  LoadTracker& load_;
  Decider& decider_;
  PieceDecider& pieces_;
  RecentSets recent_;
};

}  // namespace polypath::engine
