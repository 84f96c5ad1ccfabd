#pragma once
// Over which paths messages go that are sent at the same time, and in which shares: as the share
// program of all of them says, or a joint plan (plan/joint/joint.h).

#include <vector>

#include "collective/trees/packing.h"
#include "plan/joint/joint.h"

namespace polypath::collective {

/// A path, the fraction of a message that it carries, and in how many chunks.
struct PathShare {
  Path path;
  double share = 1;
  int chunks = 1;
};

class Routes {
 public:
  /// Error (invalid_setting) as of Planner.
  Routes(const Machine& machine, const Settings& settings)
      : planner_(machine, settings),
        joint_(planner_),
        packings_(planner_.machine(), static_cast<std::size_t>(settings.plan_cache)) {}

  /// The paths of each, the direct one first. Sizes are taken in kGrain bytes, so that sets of
  /// hardly different ones have one plan. Of more messages than a joint plan can have, each goes
  /// over its direct path.
  [[nodiscard]] std::vector<std::vector<PathShare>> of(std::vector<JointTransfer> messages,
                                                       bool by_joint_plan);
  /// The trees that bytes for several ranks go along.
  [[nodiscard]] Packings& packings() { return packings_; }

 private:
  static constexpr Bytes kGrain = 64_KiB;

  Planner planner_;
  JointPlanner joint_;
  Packings packings_;
};

}  // namespace polypath::collective
