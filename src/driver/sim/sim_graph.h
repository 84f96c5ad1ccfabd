#pragma once
// Executable graphs of the simulated driver.

#include <map>
#include <memory>
#include <vector>

#include "driver/sim/sim_copies.h"
#include "driver/sim/sim_flag.h"
#include "driver/sim/sim_kernel_group.h"
#include "driver/sim/sim_kernel_run.h"
#include "driver/sim/sim_streams.h"
#include "driver/sim/simulation.h"

namespace polypath::sim {

/// Cuts the nodes into branches, each a chain of dependencies; returns the branch of each node.
std::vector<int> branches_of(const std::vector<GraphNode>& nodes);

/// The parts of the driver that nodes are made of.
struct SimGraphParts {
  SimStreams& streams;
  SimCopies& copies;
  SimKernelRuns& kernels;
  SimKernelGroups& groups;
  SimFlags& flags;
};

/// The functions are those of Driver with the same names.
class SimGraphs {
 public:
  SimGraphs(Simulation& simulation, const SimGraphParts& parts)
      : simulation_(simulation), parts_(parts) {}

  GraphHandle instantiate(const std::vector<GraphNode>& nodes);
  void update_node(GraphHandle graph, int node, Address destination, Address source);
  void update_kernel(GraphHandle graph, int node, const std::vector<Address>& memory);
  void launch(GraphHandle graph, StreamHandle stream);
  void destroy(GraphHandle graph);
  /// Those that were not destroyed.
  [[nodiscard]] std::size_t count() const { return graphs_.size(); }

 private:
  struct Graph {
    std::vector<GraphNode> nodes;
    std::vector<HopId> hops;               ///< per node
    std::vector<std::size_t> threads;      ///< per node: the logical thread of its branch
    std::vector<std::size_t> all_threads;  ///< each branch once
    std::vector<bool> leaves;              ///< per node: no other waits for it
    ActivityPointer last_launch;           ///< launches of one graph run one after another
    MomentPointer after_last_launch;       ///< work after that launch comes after this
  };
  /// Where a node stands in the order of things, if it writes or awaits a flag.
  struct NodeOrder {
    AwaitedFlag awaited = {};    ///< of a wait
    MomentPointer written = {};  ///< of a write, be it after a wait
    GroupOrder group = {};       ///< of a kernel that meets others
  };

  [[nodiscard]] Graph& at(GraphHandle handle);
  void check_node(const GraphNode& node) const;
  [[nodiscard]] PlaceId gpu_of(const Activity& work) const;
  [[nodiscard]] PlaceId node_gpu(const Graph& graph, std::size_t index) const;
  ActivityPointer launch_node(Graph& graph, std::size_t index,
                              const std::vector<ActivityPointer>& done,
                              const ActivityPointer& start, const NodeOrder& order);
  ActivityPointer begin_node(const Graph& graph, std::size_t index, const NodeOrder& order);
  ActivityPointer end_node(const GraphNode& node, const ActivityPointer& begun,
                           const NodeOrder& order);
  void join(Graph& graph, SimStream& stream, const std::vector<ActivityPointer>& done);
  std::vector<NodeOrder> note(Graph& graph, const SimStream& stream);
  NodeOrder note_node(const GraphNode& node, std::size_t thread);

  Simulation& simulation_;
  SimGraphParts parts_;
  std::map<GraphHandle, Graph> graphs_;
};

}  // namespace polypath::sim
