#include "driver/sim/sim_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.h"

namespace polypath::sim {
namespace {

void check_order(const std::vector<GraphNode>& nodes) {
  if (nodes.empty()) fail(ErrorCode::invalid_argument, "a graph has no nodes", "nothing would run");
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const int before : nodes[i].after)
      if (before < 0 || static_cast<std::size_t>(before) >= i)
        fail(ErrorCode::invalid_argument, fmt::format("graph node {} waits for node {}", i, before),
             "a node waits for earlier ones only");
}

[[noreturn]] void fail_as_kernel(int node, bool is_kernel) {
  fail(ErrorCode::invalid_argument,
       fmt::format("graph node {} is {}", node, is_kernel ? "a kernel" : "no kernel"),
       "the two have different parameters", is_kernel ? "Use update_kernel." : "Use update_node.");
}

[[noreturn]] void fail_as_flag(int node) {
  fail(ErrorCode::invalid_argument, fmt::format("graph node {} cannot be updated", node),
       "it writes or awaits a flag", "Instantiate another graph.");
}

bool is_copy(const GraphNode& node) { return !node.kernel && !node.flag; }

void require_copy(const GraphNode& node, int number) {
  if (node.kernel) fail_as_kernel(number, true);
  if (node.flag) fail_as_flag(number);
}

GraphNode& node_of(std::vector<GraphNode>& nodes, int number) {
  if (number < 0 || static_cast<std::size_t>(number) >= nodes.size())
    fail(ErrorCode::invalid_argument, fmt::format("graph node {} does not exist", number),
         fmt::format("the graph has {}", nodes.size()));
  return nodes[static_cast<std::size_t>(number)];
}

}  // namespace

std::vector<int> branches_of(const std::vector<GraphNode>& nodes) {
  std::vector<int> branches;
  std::vector<bool> continued(nodes.size(), false);
  int count = 0;
  for (const GraphNode& node : nodes) {
    const auto free = std::find_if(node.after.begin(), node.after.end(), [&](int before) {
      return !continued[static_cast<std::size_t>(before)];
    });
    if (free == node.after.end()) {
      branches.push_back(count++);
      continue;
    }
    continued[static_cast<std::size_t>(*free)] = true;
    branches.push_back(branches[static_cast<std::size_t>(*free)]);
  }
  return branches;
}

GraphHandle SimGraphs::instantiate(const std::vector<GraphNode>& nodes) {
  check_order(nodes);
  Graph graph;
  graph.nodes = nodes;
  graph.leaves.assign(nodes.size(), true);
  for (const GraphNode& node : nodes) {
    check_node(node);
    graph.hops.push_back(is_copy(node) ? parts_.copies.hop_of(node.copy) : HopId{});
    for (const int before : node.after) graph.leaves[static_cast<std::size_t>(before)] = false;
  }
  simulation_.count(Call::instantiate);
  const auto branches = branches_of(nodes);
  const int branch_count = 1 + *std::max_element(branches.begin(), branches.end());
  for (int i = 0; i < branch_count; ++i)
    graph.all_threads.push_back(simulation_.races.add_thread());
  for (const int branch : branches)
    graph.threads.push_back(graph.all_threads[static_cast<std::size_t>(branch)]);
  simulation_.clocks.spend(simulation_.clocks.costs().graph_instantiate +
                           simulation_.clocks.costs().graph_instantiate_node *
                               static_cast<double>(nodes.size()));
  const GraphHandle handle{simulation_.make_handle()};
  graphs_[handle] = std::move(graph);
  return handle;
}

void SimGraphs::check_node(const GraphNode& node) const {
  if (node.flag) {
    simulation_.check_gpu(node.flag->gpu);
    parts_.flags.check(node.flag->address, node.flag->place);
  } else if (node.kernel) parts_.kernels.check(*node.kernel);
  else if (node.reduction) parts_.copies.check_reduction(node.copy, *node.reduction);
  else parts_.copies.check(node.copy);
}

void SimGraphs::update_node(GraphHandle handle, int number, Address destination, Address source) {
  GraphNode& node = node_of(at(handle).nodes, number);
  require_copy(node, number);
  CopyRequest changed = node.copy;
  changed.destination = destination, changed.source = source;
  parts_.copies.check(changed);
  simulation_.count(Call::update_node);
  simulation_.clocks.spend(simulation_.clocks.costs().graph_update_node);
  node.copy = changed;
}

void SimGraphs::update_kernel(GraphHandle handle, int number, const std::vector<Address>& memory) {
  GraphNode& node = node_of(at(handle).nodes, number);
  if (!node.kernel) fail_as_kernel(number, false);
  KernelRequest changed = with_memory(*node.kernel, memory);
  parts_.kernels.check(changed);
  simulation_.count(Call::update_node);
  simulation_.clocks.spend(simulation_.clocks.costs().graph_update_node);
  node.kernel = std::move(changed);
}

void SimGraphs::destroy(GraphHandle handle) {
  for (const std::size_t thread : at(handle).all_threads) simulation_.retire_thread(thread);
  graphs_.erase(handle);
  simulation_.count(Call::destroy_graph);
}

void SimGraphs::launch(GraphHandle handle, StreamHandle stream_handle) {
  Graph& graph = at(handle);
  SimStream& stream = parts_.streams.at(stream_handle);
  for (const GraphNode& node : graph.nodes) check_node(node);
  simulation_.count(Call::launch);
  simulation_.clocks.spend_at_all_nodes(simulation_.clocks.costs().graph_launch);
  simulation_.clocks.issue_at(stream.gpu);
  const ActivityPointer start = simulation_.make_marker();
  Fluid::order(stream.tail, start, {});
  Fluid::order(graph.last_launch, start, {});
  simulation_.fluid.submit(start);
  const std::vector<NodeOrder> order = note(graph, stream);
  std::vector<ActivityPointer> done;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    done.push_back(launch_node(graph, i, done, start, order[i]));
  join(graph, stream, done);
}

ActivityPointer SimGraphs::begin_node(const Graph& graph, std::size_t index,
                                      const NodeOrder& order) {
  const GraphNode& node = graph.nodes[index];
  if (node.flag)
    return node.flag->waits ? parts_.flags.make_wait(*node.flag, order.awaited)
                            : parts_.flags.make_write(*node.flag, order.written,
                                                      simulation_.machine.driver.flag_latency);
  return node.kernel ? parts_.kernels.make_activity(*node.kernel)
                     : parts_.copies.make_activity(node.copy, graph.hops[index], node.reduction);
}

// A wait that writes afterwards is two activities, a kernel that meets others several.
ActivityPointer SimGraphs::end_node(const GraphNode& node, const ActivityPointer& begun,
                                    const NodeOrder& order) {
  std::vector<ActivityPointer> rest;
  if (node.kernel && node.kernel->group) rest = parts_.groups.make(*node.kernel, order.group);
  if (node.flag && node.flag->waits && node.flag->then)
    rest.push_back(parts_.flags.make_write(*node.flag, order.written,
                                           simulation_.machine.driver.flag_latency));
  ActivityPointer last = begun;
  for (const ActivityPointer& each : rest) {
    Fluid::order(last, each, {});
    simulation_.fluid.submit(each);
    last = each;
  }
  return last;
}

PlaceId SimGraphs::gpu_of(const Activity& work) const {
  return work.hop.valid() ? simulation_.machine.executing_gpu(work.hop) : work.gpu;
}

// Whose part of the launch it is.
PlaceId SimGraphs::node_gpu(const Graph& graph, std::size_t index) const {
  const GraphNode& node = graph.nodes[index];
  if (node.flag) return node.flag->gpu;
  if (node.kernel) return node.kernel->gpu;
  if (const HopId hop = graph.hops[index]; hop.valid())
    return simulation_.machine.executing_gpu(hop);
  return node.copy.destination_place;
}

// A flag beside work of the same GPU is set and awaited in the same queue. The driver hands the
// nodes to the GPUs one after another while the launch call runs.
ActivityPointer SimGraphs::launch_node(Graph& graph, std::size_t index,
                                       const std::vector<ActivityPointer>& done,
                                       const ActivityPointer& start, const NodeOrder& order) {
  simulation_.spend_at(node_gpu(graph, index), simulation_.clocks.costs().graph_launch_node);
  const ActivityPointer activity = begin_node(graph, index, order);
  Fluid::order(start, activity, {});
  for (const int before : graph.nodes[index].after) {
    const auto b = static_cast<std::size_t>(before);
    const HopId hop = graph.hops[index];
    const bool works = hop.valid() || activity->gpu.valid();
    const bool waits = works && graph.hops[b] != hop;
    activity->waits = activity->waits || waits;
    const PlaceId gpu = gpu_of(*activity);
    const bool by_flag = graph.nodes[b].flag || graph.nodes[index].flag;
    const bool crosses = waits && !(by_flag && gpu_of(*done[b]) == gpu);
    Fluid::order(done[b], activity, crosses ? simulation_.crossing_delay(done[b], gpu) : Seconds{});
  }
  simulation_.fluid.submit(activity);
  return end_node(graph.nodes[index], activity, order);
}

void SimGraphs::join(Graph& graph, SimStream& stream, const std::vector<ActivityPointer>& done) {
  const ActivityPointer end = simulation_.make_marker();
  for (std::size_t i = 0; i < done.size(); ++i) {
    if (!graph.leaves[i]) continue;
    const HopId hop = graph.hops[i];
    const bool here = hop.valid() ? simulation_.machine.executing_gpu(hop) == stream.gpu
                                  : !done[i]->gpu.valid() || done[i]->gpu == stream.gpu;
    Fluid::order(done[i], end, here ? Seconds{} : simulation_.crossing_delay(done[i], stream.gpu));
  }
  simulation_.fluid.submit(end);
  stream.tail = end;
  graph.last_launch = end;
}

SimGraphs::NodeOrder SimGraphs::note_node(const GraphNode& node, std::size_t thread) {
  NodeOrder order;
  if (!node.flag) {
    node.kernel ? parts_.kernels.step(*node.kernel, thread) : parts_.copies.step(node.copy, thread);
    if (node.kernel && node.kernel->group) order.group = parts_.groups.note(*node.kernel, thread);
    return order;
  }
  if (node.flag->waits) order.awaited = parts_.flags.note_wait(thread);
  if (!node.flag->waits || node.flag->then) order.written = parts_.flags.note_write(thread);
  return order;
}

std::vector<SimGraphs::NodeOrder> SimGraphs::note(Graph& graph, const SimStream& stream) {
  simulation_.step(stream.thread, {}, {});
  simulation_.order.join(stream.thread, graph.after_last_launch);
  const MomentPointer start = simulation_.order.mark(stream.thread);
  for (const std::size_t thread : graph.all_threads) simulation_.order.join(thread, start);
  std::vector<NodeOrder> nodes;
  std::vector<MomentPointer> after;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::size_t thread = graph.threads[i];
    for (const int before : graph.nodes[i].after)
      simulation_.order.join(thread, after[static_cast<std::size_t>(before)]);
    nodes.push_back(note_node(graph.nodes[i], thread));
    after.push_back(simulation_.order.mark(thread));
  }
  for (const std::size_t thread : graph.all_threads)
    simulation_.order.join(stream.thread, simulation_.order.mark(thread));
  graph.after_last_launch = simulation_.order.mark(stream.thread);
  return nodes;
}

SimGraphs::Graph& SimGraphs::at(GraphHandle handle) {
  const auto found = graphs_.find(handle);
  if (found == graphs_.end()) fail_handle("graph", handle.value);
  return found->second;
}

}  // namespace polypath::sim
