#pragma once
// The share program (model/share_problem.h) with few paths that carry anything: while there are too
// many, the one that carries least is left out and the program solved again.

#include <vector>

#include "model/share_problem.h"

namespace polypath::plan {

/// One share per path of the problem; zero for those left out. Path 0 never is.
std::vector<double> sparsify_shares(std::vector<SharedPath> problem,
                                    const std::vector<Capacity>& capacities, Bytes total,
                                    Bytes smallest, std::size_t most);

/// Adds up the claims on each resource.
void merge_claims(std::vector<Use>& claims);

}  // namespace polypath::plan
