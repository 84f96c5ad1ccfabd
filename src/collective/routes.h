#pragma once
// How messages that go at the same time are split over paths: the joint plan of them
// (plan/joint.h).

#include <vector>

#include "plan/joint.h"

namespace polypath {

class Routes {
 public:
  /// Error (invalid_setting) as of Planner.
  Routes(const Machine& machine, const Settings& settings)
      : planner_(machine, settings), joint_(planner_) {}

  /// The paths of each, with their chunks. Of more messages than a joint plan can have, each goes
  /// over its direct path.
  [[nodiscard]] std::vector<std::vector<PathShape>> of(const std::vector<JointTransfer>& messages);

 private:
  Planner planner_;
  JointPlanner joint_;
};

}  // namespace polypath
