#pragma once
// How several copies that are asked for together are to be done, and how they were.

#include <optional>
#include <span>
#include <vector>

#include "engine/call/copy_set.h"
#include "engine/call/piece_set.h"
#include "engine/load/load_tracker.h"
#include "plan/joint/joint.h"
#include "plan/pieces/piece_planner.h"

namespace polypath::engine {

/// Copies of a set that go as one stream of bytes, group by group.
struct Pieces {
  PieceSet set;
  PieceRecipePointer recipe;  ///< null while it is being found in the background
  Contention contention = {};
  std::size_t group = 0;            ///< the present one
  PlanPointer plan = nullptr;       ///< its; null without a recipe
  bool have_gone_by_paths = false;  ///< those of an earlier group
  /// Of the present group, once its first piece has been looked at: how all were done, or have to
  /// be.
  std::optional<CopyResult> result = std::nullopt;

  [[nodiscard]] bool are_past(std::size_t number) const {
    return number > set.members[set.groups[group].members_end - 1];
  }
};

/// It refers to the calls, which have to live longer.
struct SetDecision {
  std::span<const CopyCall> calls;
  std::vector<SetMember> members = {};
  std::optional<Executor> executor = std::nullopt;  ///< that all plannable ones ask for
  CopySet set = {};
  std::vector<Contention> contentions = {};  ///< by transfer
  Seconds time = {};                         ///< when they were looked at
  bool yields_to_other_processes = false;    ///< as Decision's
  bool batched = false;                      ///< natively they are one batch
  bool recalled = false;                     ///< as Decision's: nothing above but the time is known
  JointPlanPointer joint = nullptr;          ///< null: each by itself, in its own stream
  std::optional<Pieces> pieces = std::nullopt;

  [[nodiscard]] CopySet::Part part(std::size_t number) const {
    return joint && !recalled ? set.parts[number] : CopySet::Part{};
  }
};

}  // namespace polypath::engine
