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

[[noreturn]] void fail_as_flag(int node) {
  fail(ErrorCode::invalid_argument, fmt::format("graph node {} cannot be updated", node),
       "it writes or awaits a flag", "Instantiate another graph.");
}

bool is_copy(const GraphNode& node) { return !node.kernel && !node.flag; }

void require_copy(const GraphNode& node, int number) {
  if (node.kernel) fail_as_kernel(number, true);
  if (node.flag) fail_as_flag(number);
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
    graph->hops.push_back(is_copy(node) ? hop_of(node.copy) : HopId{});
    for (const int before : node.after) graph->leaves[static_cast<std::size_t>(before)] = false;
  }
  count(Call::instantiate);
  const auto branches = branches_of(nodes);
  const int branch_count = 1 + *std::max_element(branches.begin(), branches.end());
  for (int i = 0; i < branch_count; ++i) graph->all_threads.push_back(races_.add_thread());
  for (const int branch : branches)
    graph->threads.push_back(graph->all_threads[static_cast<std::size_t>(branch)]);
  spend(costs_.graph_instantiate +
        costs_.graph_instantiate_node * static_cast<double>(nodes.size()));
  const GraphHandle handle{next_handle_++};
  graphs_[handle] = std::move(graph);
  return handle;
}

void SimDriver::check_node(const GraphNode& node) const {
  if (node.flag) {
    check_gpu(node.flag->gpu);
    check_flag(node.flag->address, node.flag->place);
  } else if (node.kernel) check_kernel(*node.kernel);
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
  require_copy(node, number);
  CopyRequest changed = node.copy;
  changed.destination = destination, changed.source = source;
  check_copy(changed);
  count(Call::update_node);
  spend(costs_.graph_update_node);
  node.copy = changed;
}

void SimDriver::update_kernel(GraphHandle handle, int number, const std::vector<Address>& memory) {
  const std::scoped_lock lock(mutex_);
  GraphNode& node = node_of(graph_of(handle), number);
  if (!node.kernel) fail_as_kernel(number, false);
  KernelRequest changed = with_memory(*node.kernel, memory);
  check_kernel(changed);
  count(Call::update_node);
  spend(costs_.graph_update_node);
  node.kernel = std::move(changed);
}

void SimDriver::destroy_graph(GraphHandle handle) {
  const std::scoped_lock lock(mutex_);
  for (const std::size_t thread : graph_of(handle).all_threads)
    order_.perform(thread, [this, thread] { races_.retire_thread(thread); });
  graphs_.erase(handle);
  count(Call::destroy_graph);
}

void SimDriver::launch(GraphHandle handle, StreamHandle stream_handle) {
  const std::scoped_lock lock(mutex_);
  Graph& graph = graph_of(handle);
  Stream& stream = stream_of(stream_handle);
  for (const GraphNode& node : graph.nodes) check_node(node);
  count(Call::launch);
  for (Seconds& clock : host_clocks_[host_thread_]) clock += costs_.graph_launch;
  issue_at(stream.gpu);
  const ActivityPointer start = make_marker();
  Fluid::order(stream.tail, start, {});
  Fluid::order(graph.last_launch, start, {});
  fluid_.submit(start);
  const std::vector<NodeOrder> order = note_graph(graph, stream);
  std::vector<ActivityPointer> done;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    done.push_back(launch_node(graph, i, done, start, order[i]));
  join_graph(graph, stream, done);
}

ActivityPointer SimDriver::begin_node(const Graph& graph, std::size_t index,
                                      const NodeOrder& order) {
  const GraphNode& node = graph.nodes[index];
  if (node.flag)
    return node.flag->waits ? make_wait(*node.flag, order.awaited)
                            : make_write(*node.flag, order.written, machine_.driver.flag_latency);
  return node.kernel ? make_activity(*node.kernel)
                     : make_activity(node.copy, graph.hops[index], node.reduction);
}

// A wait that writes afterwards is two activities, a kernel that meets others several.
ActivityPointer SimDriver::end_node(const GraphNode& node, const ActivityPointer& begun,
                                    const NodeOrder& order) {
  std::vector<ActivityPointer> rest;
  if (node.kernel && node.kernel->group) rest = make_group(*node.kernel, order.group);
  if (node.flag && node.flag->waits && node.flag->then)
    rest.push_back(make_write(*node.flag, order.written, machine_.driver.flag_latency));
  ActivityPointer last = begun;
  for (const ActivityPointer& each : rest) {
    Fluid::order(last, each, {});
    fluid_.submit(each);
    last = each;
  }
  return last;
}

PlaceId SimDriver::gpu_of(const Activity& work) const {
  return work.hop.valid() ? machine_.executing_gpu(work.hop) : work.gpu;
}

// Whose part of the launch it is.
PlaceId SimDriver::node_gpu(const Graph& graph, std::size_t index) const {
  const GraphNode& node = graph.nodes[index];
  if (node.flag) return node.flag->gpu;
  if (node.kernel) return node.kernel->gpu;
  if (const HopId hop = graph.hops[index]; hop.valid()) return machine_.executing_gpu(hop);
  return node.copy.destination_place;
}

// A flag beside work of the same GPU is set and awaited in the same queue. The driver hands the
// nodes to the GPUs one after another while the launch call runs.
ActivityPointer SimDriver::launch_node(Graph& graph, std::size_t index,
                                       const std::vector<ActivityPointer>& done,
                                       const ActivityPointer& start, const NodeOrder& order) {
  issue_at(node_gpu(graph, index));
  spend(costs_.graph_launch_node);
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
    Fluid::order(done[b], activity, crosses ? crossing_delay(done[b], gpu) : Seconds{});
  }
  fluid_.submit(activity);
  return end_node(graph.nodes[index], activity, order);
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

SimDriver::NodeOrder SimDriver::note_node(const GraphNode& node, std::size_t thread) {
  NodeOrder order;
  if (!node.flag) {
    node.kernel ? step(*node.kernel, thread) : step(node.copy, thread);
    if (node.kernel && node.kernel->group) order.group = note_group(*node.kernel, thread);
    return order;
  }
  if (node.flag->waits) order.awaited = note_wait(thread);
  if (!node.flag->waits || node.flag->then) order.written = note_write(thread);
  return order;
}

std::vector<SimDriver::NodeOrder> SimDriver::note_graph(Graph& graph, Stream& stream) {
  step(stream.thread, {}, {});
  order_.join(stream.thread, graph.after_last_launch);
  const MomentPointer start = order_.mark(stream.thread);
  for (const std::size_t thread : graph.all_threads) order_.join(thread, start);
  std::vector<NodeOrder> nodes;
  std::vector<MomentPointer> after;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::size_t thread = graph.threads[i];
    for (const int before : graph.nodes[i].after)
      order_.join(thread, after[static_cast<std::size_t>(before)]);
    nodes.push_back(note_node(graph.nodes[i], thread));
    after.push_back(order_.mark(thread));
  }
  for (const std::size_t thread : graph.all_threads)
    order_.join(stream.thread, order_.mark(thread));
  graph.after_last_launch = order_.mark(stream.thread);
  return nodes;
}

}  // namespace polypath::sim
