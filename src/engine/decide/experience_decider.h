#pragma once
// Decides by the times of earlier transfers how one that is planned over several paths is done: by
// that plan, with another split, or natively.

#include "engine/decide/decision.h"
#include "engine/learn/learner.h"
#include "engine/planning/plan_finder.h"

namespace polypath::engine {

/// Not thread-safe; the engine guards it.
class ExperienceDecider {
 public:
  ExperienceDecider(Learner& learner, PlanFinder& plans) : learner_(learner), plans_(plans) {}

  /// The transfer's contention and the time have been looked at.
  void apply(Decision& decision);

 private:
  void compare_exchange(Decision& decision);
  [[nodiscard]] PlanPointer take_split(const PlanPointer& plan, const Split& split);
  [[nodiscard]] bool go_natively(Decision& decision);

  Learner& learner_;
  PlanFinder& plans_;
};

}  // namespace polypath::engine
