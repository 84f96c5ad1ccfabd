#include "driver/sim/sim_graph.h"

#include <fmt/format.h>

#include <algorithm>
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

GraphHandle SimDriver::instantiate(const std::vector<GraphNode>& nodes) {
  const std::scoped_lock lock(mutex_);
  check_order(nodes);
  auto graph = std::make_unique<Graph>();
  graph->nodes = nodes;
  graph->leaves.assign(nodes.size(), true);
  for (const GraphNode& node : nodes) {
    check_node(node);
    graph->hops.push_back(node.kernel ? HopId{} : hop_of(node.copy));
    for (const int before : node.after) graph->leaves[static_cast<std::size_t>(before)] = false;
  }
  count(Call::instantiate);
  const auto branches = branches_of(nodes);
  const int branch_count = 1 + *std::max_element(branches.begin(), branches.end());
  for (int i = 0; i < branch_count; ++i) graph->all_threads.push_back(races_.add_thread());
  for (const int branch : branches)
    graph->threads.push_back(graph->all_threads[static_cast<std::size_t>(branch)]);
  spend(machine_.costs.graph_instantiate +
        machine_.costs.graph_instantiate_node * static_cast<double>(nodes.size()));
  const GraphHandle handle{next_handle_++};
  graphs_[handle] = std::move(graph);
  return handle;
}

void SimDriver::check_node(const GraphNode& node) const {
  if (node.kernel) check_kernel(*node.kernel);
  else if (node.reduction) check_reduction(node.copy, *node.reduction);
  else check_copy(node.copy);
}

GraphNode& SimDriver::node_of(Graph& graph, int number) {
  if (number < 0 || static_cast<std::size_t>(number) >= graph.nodes.size())
    fail(ErrorCode::invalid_argument, fmt::format("graph node {} does not exist", number),
         fmt::format("the graph has {}", graph.nodes.size()));
  return graph.nodes[static_cast<std::size_t>(number)];
}

void SimDriver::update_node(GraphHandle handle, int number, Address destination, Address source) {
  const std::scoped_lock lock(mutex_);
  GraphNode& node = node_of(graph_of(handle), number);
  if (node.kernel) fail_as_kernel(number, true);
  CopyRequest changed = node.copy;
  changed.destination = destination, changed.source = source;
  check_copy(changed);
  count(Call::update_node);
  spend(machine_.costs.graph_update_node);
  node.copy = changed;
}

void SimDriver::update_kernel(GraphHandle handle, int number, const std::vector<Address>& memory) {
  const std::scoped_lock lock(mutex_);
  GraphNode& node = node_of(graph_of(handle), number);
  if (!node.kernel) fail_as_kernel(number, false);
  KernelRequest changed = with_memory(*node.kernel, memory);
  check_kernel(changed);
  count(Call::update_node);
  spend(machine_.costs.graph_update_node);
  node.kernel = std::move(changed);
}

void SimDriver::destroy_graph(GraphHandle handle) {
  const std::scoped_lock lock(mutex_);
  for (const std::size_t thread : graph_of(handle).all_threads) races_.retire_thread(thread);
  graphs_.erase(handle);
  count(Call::destroy_graph);
}

void SimDriver::launch(GraphHandle handle, StreamHandle stream_handle) {
  const std::scoped_lock lock(mutex_);
  Graph& graph = graph_of(handle);
  Stream& stream = stream_of(stream_handle);
  for (const GraphNode& node : graph.nodes) check_node(node);
  count(Call::launch);
  spend(machine_.costs.graph_launch);
  const ActivityPointer start = make_marker();
  Fluid::order(stream.tail, start, {});
  Fluid::order(graph.last_launch, start, {});
  fluid_.submit(start);
  check_graph_accesses(graph, stream);
  std::vector<ActivityPointer> done;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    done.push_back(launch_node(graph, i, done, start));
  join_graph(graph, stream, done);
}

// The driver hands the nodes to the GPUs one after another while the launch call runs.
ActivityPointer SimDriver::launch_node(Graph& graph, std::size_t index,
                                       const std::vector<ActivityPointer>& done,
                                       const ActivityPointer& start) {
  spend(machine_.costs.graph_launch_node);
  const GraphNode& node = graph.nodes[index];
  ActivityPointer activity = node.kernel
                                 ? make_activity(*node.kernel)
                                 : make_activity(node.copy, graph.hops[index], node.reduction);
  Fluid::order(start, activity, {});
  for (const int before : node.after) {
    const auto b = static_cast<std::size_t>(before);
    const HopId hop = graph.hops[index];
    const bool works = hop.valid() || activity->gpu.valid();
    const bool waits = works && graph.hops[b] != hop;
    activity->waits = activity->waits || waits;
    const PlaceId gpu = hop.valid() ? machine_.executing_gpu(hop) : activity->gpu;
    Fluid::order(done[b], activity, waits ? crossing_delay(done[b], gpu) : Seconds{});
  }
  fluid_.submit(activity);
  return activity;
}

void SimDriver::join_graph(Graph& graph, Stream& stream, const std::vector<ActivityPointer>& done) {
  const ActivityPointer end = make_marker();
  for (std::size_t i = 0; i < done.size(); ++i) {
    if (!graph.leaves[i]) continue;
    const HopId hop = graph.hops[i];
    const bool here = hop.valid() ? machine_.executing_gpu(hop) == stream.gpu
                                  : !done[i]->gpu.valid() || done[i]->gpu == stream.gpu;
    Fluid::order(done[i], end, here ? Seconds{} : crossing_delay(done[i], stream.gpu));
  }
  fluid_.submit(end);
  stream.tail = end;
  graph.last_launch = end;
}

void SimDriver::check_graph_accesses(Graph& graph, Stream& stream) {
  races_.step(stream.thread);
  races_.join(stream.thread, graph.after_last_launch);
  for (const std::size_t thread : graph.all_threads)
    races_.join(thread, races_.clock(stream.thread));
  std::vector<Clock> after;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::size_t thread = graph.threads[i];
    for (const int before : graph.nodes[i].after)
      races_.join(thread, after[static_cast<std::size_t>(before)]);
    after.push_back(races_.step(thread));
    const GraphNode& node = graph.nodes[i];
    node.kernel ? check_accesses(*node.kernel, thread) : check_accesses(node.copy, thread);
  }
  for (const std::size_t thread : graph.all_threads)
    races_.join(stream.thread, races_.clock(thread));
  graph.after_last_launch = races_.clock(stream.thread);
}

}  // namespace polypath::sim
