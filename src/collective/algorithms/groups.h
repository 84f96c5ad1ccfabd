#pragma once
// Groups of ranks that are close to each other, for hierarchical algorithms.

#include <vector>

#include "machine/machine.h"

namespace polypath::collective {

/// Ranks in groups: of one NUMA node, and joined by peer hops each with its group's first one, both
/// ways. In the order of their first ranks, each in the order of ranks.
std::vector<std::vector<int>> groups_of(const Machine& machine, const std::vector<PlaceId>& ranks);

}  // namespace polypath::collective
