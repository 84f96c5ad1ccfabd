#include "collective/program/routes.h"

namespace polypath::collective {
namespace {

std::vector<PathShare> shares_of(const TransferShape& shape, Bytes bytes) {
  std::vector<PathShare> shares;
  for (const PathShape& path : shape.paths)
    shares.push_back(
        {path.path, path.bytes().real() / bytes.real(), static_cast<int>(path.chunks.size())});
  return shares;
}

}  // namespace

std::vector<std::vector<PathShare>> Routes::of(std::vector<JointTransfer> messages,
                                               bool by_joint_plan) {
  std::vector<std::vector<PathShare>> shares;
  if (messages.size() > kMostJointTransfers) {
    for (const JointTransfer& each : messages)
      shares.push_back(
          {{.path = {*planner_.machine().find_hop(each.source, each.destination), {}}}});
    return shares;
  }
  for (JointTransfer& each : messages)
    each.bytes = kGrain * ((each.bytes.value + kGrain.value - 1) / kGrain.value);
  if (by_joint_plan) {
    for (const PlanPointer& plan : joint_.plan(messages)->plans)
      shares.push_back(shares_of(plan->shape, plan->bytes));
    return shares;
  }
  const std::vector<TransferShape>& shapes = joint_.shapes(messages);
  for (std::size_t k = 0; k < messages.size(); ++k)
    shares.push_back(shares_of(shapes[k], messages[k].bytes));
  return shares;
}

}  // namespace polypath::collective
