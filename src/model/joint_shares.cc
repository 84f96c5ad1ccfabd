#include "model/joint_shares.h"

#include <algorithm>
#include <numeric>

#include "model/share_program.h"

namespace polypath::model {
namespace {

std::vector<ShareGroup> groups_of(std::span<const JointPaths> transfers) {
  std::vector<ShareGroup> groups;
  for (const JointPaths& transfer : transfers) {
    std::vector<std::size_t> used(transfer.paths.size());
    std::iota(used.begin(), used.end(), std::size_t{0});
    groups.push_back({transfer.paths, std::move(used), transfer.bytes.real(), transfer.deadline});
  }
  return groups;
}

// Leaves out the paths that would carry too little; false if there are none.
bool leave_out(std::span<const JointPaths> transfers, const ShareAmounts& amounts,
               std::vector<ShareGroup>& groups) {
  bool any = false;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const double smallest = std::max(1.0, transfers[g].smallest.real());
    std::vector<std::size_t> kept{groups[g].used.front()};
    for (std::size_t u = 1; u < groups[g].used.size(); ++u)
      if (amounts.of_group[g][u] * groups[g].total >= smallest) kept.push_back(groups[g].used[u]);
    any |= kept.size() < groups[g].used.size();
    groups[g].used = std::move(kept);
  }
  return any;
}

JointShares shares_of(const std::vector<ShareGroup>& groups, const ShareAmounts& amounts) {
  JointShares joint{{amounts.time}, {}};
  for (std::size_t g = 0; g < groups.size(); ++g) {
    joint.shares.emplace_back(groups[g].paths.size(), 0.0);
    for (std::size_t u = 0; u < groups[g].used.size(); ++u)
      joint.shares[g][groups[g].used[u]] = std::max(0.0, amounts.of_group[g][u]);
  }
  return joint;
}

}  // namespace

JointShares solve_joint_shares(std::span<const JointPaths> transfers,
                               std::span<const Capacity> available) {
  std::vector<ShareGroup> groups = groups_of(transfers);
  while (true) {
    const ShareAmounts amounts = optimal_amounts(groups, available, AmongEqual::least_use);
    if (!leave_out(transfers, amounts, groups)) return shares_of(groups, amounts);
  }
}

Seconds flow_bound(const Machine& machine, const ResourceModel& resources,
                   std::span<const FlowDemand> demands) {
  std::vector<JointPaths> transfers;
  for (const FlowDemand& demand : demands) {
    JointPaths transfer{.paths = {}, .bytes = demand.bytes, .smallest = {}};
    for (const Path& path : demand.paths) {
      double slowest = 1 / machine.hop(path.first).bandwidth.value;
      if (path.staged()) slowest = std::max(slowest, 1 / machine.hop(path.second).bandwidth.value);
      transfer.paths.push_back({{slowest, {}}, resources.claims(path)});
    }
    transfers.push_back(std::move(transfer));
  }
  const auto amounts =
      optimal_amounts(groups_of(transfers), resources.capacities(), AmongEqual::any);
  return {amounts.time};
}

}  // namespace polypath::model
