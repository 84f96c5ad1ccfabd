#include "collective/routes.h"

namespace polypath {
namespace {

std::vector<PathShare> shares_of(const Plan& plan) {
  std::vector<PathShare> shares;
  for (const PathShape& shape : plan.shape.paths)
    shares.push_back({shape.path, shape.bytes().real() / plan.bytes.real(),
                      static_cast<int>(shape.chunks.size())});
  return shares;
}

}  // namespace

std::vector<std::vector<PathShare>> Routes::of(std::vector<JointTransfer> messages) {
  std::vector<std::vector<PathShare>> shares;
  if (messages.size() > kMostJointTransfers) {
    for (const JointTransfer& each : messages)
      shares.push_back(
          {{.path = {*planner_.machine().find_hop(each.source, each.destination), {}}}});
    return shares;
  }
  for (JointTransfer& each : messages)
    each.bytes = kGrain * ((each.bytes.value + kGrain.value - 1) / kGrain.value);
  for (const PlanPointer& plan : joint_.plan(messages)->plans) shares.push_back(shares_of(*plan));
  return shares;
}

}  // namespace polypath
