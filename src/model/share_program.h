#pragma once
// The linear program behind share_problem.h and joint_shares.h, for the paths of one transfer or of
// several: those that may carry something, of which the first of each transfer takes what its
// others leave, b_0 = n - Σ b.

#include <map>
#include <span>
#include <vector>

#include "model/share_problem.h"

namespace polypath::model {

/// The paths of one transfer.
struct ShareGroup {
  std::span<const SharedPath> paths;
  std::vector<std::size_t> used;  ///< numbers of those that may carry something; not empty
  double total = 0;               ///< bytes
  double deadline = 1;            ///< it is to end by this times T
};

/// Amounts as parts of each group's total, in the order of its `used`; and T in seconds.
struct ShareAmounts {
  double time = 0;
  std::vector<std::vector<double>> of_group;
};

enum class AmongEqual {
  any,        ///< some optimum
  least_use,  ///< one that takes least of the machine: Σ over paths and resources of c·b / C
};

ShareAmounts optimal_amounts(std::span<const ShareGroup> groups,
                             std::span<const Capacity> available, AmongEqual among_equal);

/// The least offset of the paths in `used` that claim each resource.
std::map<ResourceId, double> first_use(std::span<const ShareGroup> groups);

double claim_on(const SharedPath& path, ResourceId resource);

}  // namespace polypath::model
