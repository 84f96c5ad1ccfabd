#include "standin/state/graphs.h"

#include <utility>

namespace polypath::standin {
namespace {

constexpr unsigned kIndexBits = 20;
constexpr std::uintptr_t kNodes = std::uintptr_t{0x57} << 40;

// The index of a node of this graph; refuses (invalid value) any other pointer.
int index_of(GraphNodePointer pointer, std::uint64_t graph_id, std::size_t count) {
  const std::uintptr_t value = reinterpret_cast<std::uintptr_t>(pointer) - kNodes;
  const std::uintptr_t index = (value & ((1U << kIndexBits) - 1)) / 16;
  if (value >> kIndexBits != graph_id || index >= count)
    refuse(kInvalidValue, "the node belongs to another graph");
  return static_cast<int>(index);
}

}  // namespace

GraphNodePointer node_pointer(std::uint64_t graph_id, std::size_t index) {
  return reinterpret_cast<GraphNodePointer>(kNodes + (graph_id << kIndexBits) + 16 * index);
}

GraphPointer Graphs::create(std::vector<CopyNode> nodes) {
  return graphs_.add(std::make_unique<Graph>(Graph{++last_id_, std::move(nodes)}));
}

GraphNodePointer Graphs::add(GraphPointer pointer, CopyNode node,
                             const std::vector<GraphNodePointer>& after) const {
  Graph& graph = find(pointer);
  for (const GraphNodePointer earlier : after)
    node.after.push_back(index_of(earlier, graph.id, graph.nodes.size()));
  graph.nodes.push_back(std::move(node));
  return node_pointer(graph.id, graph.nodes.size() - 1);
}

GraphExecPointer Graphs::instantiate(GraphPointer pointer) {
  const Graph& graph = find(pointer);
  auto made = std::make_unique<GraphExec>(GraphExec{graph.id, std::nullopt, graph.nodes});
  if (!graph.nodes.empty()) made->work = runner_.instantiate(graph.nodes);
  return executables_.add(std::move(made));
}

void Graphs::destroy(GraphExecPointer graph) {
  if (const auto work = executables_.take(graph)->work) runner_.destroy_graph(*work);
}

void Graphs::update(GraphExecPointer graph, GraphNodePointer pointer, const CopyNode& changed) {
  GraphExec& executable = find(graph);
  const int index = index_of(pointer, executable.graph, executable.nodes.size());
  CopyNode& node = executable.nodes[static_cast<std::size_t>(index)];
  if (!node.values.empty() || node.kernel.has_value() != changed.kernel.has_value())
    refuse(kInvalidValue, "the node is of another kind");
  if (changed.bytes != node.bytes) refuse(kGraphUpdateFailure, "a node's size cannot be changed");
  runner_.update_node(*executable.work, index, changed);
  node.destination = changed.destination;
  node.source = changed.source;
  node.kernel = changed.kernel;
}

void Graphs::launch(GraphExecPointer graph, StreamHandle stream) {
  if (const auto work = find(graph).work) runner_.launch(*work, stream);
}

}  // namespace polypath::standin
