#pragma once
// The costs of driver calls to the thread that makes them.
//
//   copy, event_record, event_wait   m calls in a row on the CPU's clock, over m; the streams are
//                                    busy meanwhile, and m is far below what a driver would queue
//   graph_launch + n·..._node        a line through the time of the launch call over n nodes
//   graph_instantiate + n·..._node   the same of the instantiation
//   graph_update_node                n calls in a row, one per node, over n
//
// The graphs are those of a staged path: nodes alternate between the hops into and out of a staging
// place, of different GPUs where there are two, and each waits for the one before it on its hop and
// for its chunk.

#include "probe/hop_times.h"
#include "probe/samples.h"
#include "probe/workbench.h"

namespace polypath::probe {

/// A measured cost.
struct Cost {
  Seconds value;
  double spread = 0;
};

struct StreamCosts {
  Cost copy, event_record, event_wait;
};

/// A cost that grows with the number of nodes.
struct NodeCosts {
  Seconds once, per_node;
  double spread = 0;
  double fit_error = 0;
};

struct GraphCosts {
  NodeCosts launch, instantiate;
  Cost update_node;
};

/// Two hops that a staged path would use one after the other, done by two GPUs if possible.
struct HopPair {
  HopId first, second;
};
/// The first such pair of the machine, else its first hop twice.
HopPair staged_pair(const Machine& machine);

/// Error (noisy_machine) names a cost whose repeats differ or do not grow with the nodes.
StreamCosts measure_stream_costs(Workbench& bench, const Sampler& sampler);
GraphCosts measure_graph_costs(Workbench& bench, const Sampler& sampler);

}  // namespace polypath::probe
