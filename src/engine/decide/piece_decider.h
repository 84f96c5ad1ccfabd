#pragma once
// Decides whether many small copies of a set go as one stream of bytes: see
// engine/call/piece_set.h.

#include "core/settings.h"
#include "driver/driver.h"
#include "engine/decide/set_decision.h"
#include "engine/load/load_tracker.h"
#include "engine/planning/group_plans.h"
#include "engine/planning/plan_finder.h"
#include "engine/prepare/kernel_preparer.h"
#include "machine/machine.h"

namespace polypath::engine {

/// Not thread-safe; the engine guards it.
class PieceDecider {
 public:
  PieceDecider(Driver& driver, const Machine& machine, const Settings& settings, PlanFinder& plans,
               LoadTracker& load, KernelPreparer& kernels);

  /// Of a copy whose ends stay where they are and differ.
  [[nodiscard]] bool may_be_piece(const SetMember& member) const;
  /// True if the set has pieces that are planned, or will be: nothing else of it is.
  [[nodiscard]] bool decide(SetDecision& many);
  /// Goes on to the next group of its pieces.
  void decide_next(SetDecision& many);
  /// See Engine::may_take_batch.
  [[nodiscard]] bool may_take_batch(const CopyCall& like, const CopyEnds& ends, std::size_t copies,
                                    Bytes bytes);

 private:
  [[nodiscard]] PlanPointer plan_group(const SetDecision& many, const Pieces& pieces);
  [[nodiscard]] PieceRecipePointer recipe_for(const SetDecision& many, const PieceSet& set);
  void note_natively(const SetDecision& many, const PieceSet& set, const Contention& contention);

  Driver& driver_;
  const Machine& machine_;
  const Settings& settings_;
  PlanFinder& plans_;
  LoadTracker& load_;
  KernelPreparer& kernels_;
  GroupPlans groups_;
};

}  // namespace polypath::engine
