#include "collective/routes.h"

namespace polypath {

std::vector<std::vector<PathShape>> Routes::of(const std::vector<JointTransfer>& messages) {
  std::vector<std::vector<PathShape>> paths;
  if (messages.size() > kMostJointTransfers) {
    for (const JointTransfer& each : messages) {
      const HopId hop = *planner_.machine().find_hop(each.source, each.destination);
      paths.push_back({PathShape{.path = {.first = hop, .second = {}}, .chunks = {each.bytes}}});
    }
    return paths;
  }
  const JointPlanPointer plan = joint_.plan(messages);
  for (const PlanPointer& each : plan->plans) paths.push_back(each->shape.paths);
  return paths;
}

}  // namespace polypath
