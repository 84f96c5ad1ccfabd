#pragma once
// An executable graph of the simulated driver.

#include <vector>

#include "driver/sim/sim_driver.h"

namespace polypath::sim {

struct SimDriver::Graph {
  std::vector<GraphNode> nodes;
  std::vector<HopId> hops;               ///< per node
  std::vector<std::size_t> threads;      ///< per node: the logical thread of its branch
  std::vector<std::size_t> all_threads;  ///< each branch once
  std::vector<bool> leaves;              ///< per node: no other waits for it
  ActivityPointer last_launch;           ///< launches of one graph run one after another
  MomentPointer after_last_launch;       ///< work after that launch comes after this
};

/// Where a node stands in the order of things, if it writes or awaits a flag.
struct SimDriver::NodeOrder {
  AwaitedFlag awaited = {};    ///< of a wait
  MomentPointer written = {};  ///< of a write, be it after a wait
  GroupOrder group = {};       ///< of a kernel that meets others
};

/// Cuts the nodes into branches, each a chain of dependencies; returns the branch of each node.
std::vector<int> branches_of(const std::vector<GraphNode>& nodes);

}  // namespace polypath::sim
