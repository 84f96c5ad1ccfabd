#pragma once
// The order in which values are reduced where the bits depend on it and the caller gives none: in
// each of some groups in rank order, and then the groups' results in the order of their first
// ranks. With one group it is rank order.

#include <vector>

#include "collective/algorithms/fold.h"
#include "collective/program/request.h"
#include "machine/machine.h"

namespace polypath::collective {

/// On several nodes with as many ranks each: the nodes. On one
/// node, where not all GPUs can exchange messages by kernels: GPUs that reach each other over links
/// of their own, 1.5 times as fast as some between them and others; taken in rank order. Of a
/// machine with other numbers the groups may be others: all ranks need the same one.
std::vector<std::vector<int>> order_groups(const Machine& machine,
                                           const CollectiveRequest& request);

/// fold() in the fixed order; an operand of each rank, in their order.
Slice fold_in_groups(Composer& composer, const std::vector<std::vector<int>>& groups,
                     const std::vector<Operand>& operands, Bytes bytes,
                     std::optional<Slice> result = std::nullopt);

}  // namespace polypath::collective
