// Executable graphs of copies.

#include <array>
#include <memory>
#include <set>

#include "core/error.h"
#include "driver/cuda/cuda_driver.h"
#include "driver/cuda/handles.h"

namespace polypath::cuda {

// What an update needs to state again: CUDA takes a node's parameters only as a whole.
struct CudaDriver::Graph {
  explicit Graph(const Functions& functions) : cuda(functions) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (executable != nullptr) cuda.graph_exec_destroy(executable);
    if (graph != nullptr) cuda.graph_destroy(graph);
  }

  struct Node {
    GraphNodePointer pointer = nullptr;
    Memcpy3D copy;
    ContextPointer context = nullptr;
    Address destination, source;  ///< as the caller gave them
    std::array<std::weak_ptr<SecondMapping>, 2> mappings;
  };

  const Functions& cuda;
  GraphPointer graph = nullptr;
  GraphExecPointer executable = nullptr;
  std::vector<Node> nodes;
  std::uint64_t imports_then = 0;  ///< Imports::changes() when the addresses were put in
};

namespace {

void set_addresses(Memcpy3D& copy, Address destination, Address source) {
  if (copy.source_type == kMemoryDevice) copy.source_device = source.value;
  else copy.source_host = reinterpret_cast<const void*>(source.value);
  if (copy.destination_type == kMemoryDevice) copy.destination_device = destination.value;
  else copy.destination_host = reinterpret_cast<void*>(destination.value);
}

// Puts the caller's addresses into a node, as its context must use them.
template <class Node>
void place_addresses(Imports& imports, Node& node) {
  const Reached destination = imports.reach(node.destination, node.context);
  const Reached source = imports.reach(node.source, node.context);
  set_addresses(node.copy, destination.address, source.address);
  node.mappings = {destination.mapping, source.mapping};
}

}  // namespace

ContextPointer CudaDriver::copying_context(const CopyRequest& request) {
  const int gpu = copying_gpu(request);
  connect(request, gpu);
  return contexts_.of(gpu);
}

GraphHandle CudaDriver::instantiate(const std::vector<GraphNode>& nodes) {
  const RelaxedCapture relaxed;
  const Current current(contexts_.any());
  auto made = std::make_unique<Graph>(cuda_);
  made->imports_then = imports_.changes();
  check(cuda_.graph_create(&made->graph, 0), "cuGraphCreate");
  for (const GraphNode& node : nodes) {
    if (node.reduction)
      fail(ErrorCode::unsupported, "a graph cannot reduce here", "this driver has no kernels",
           "Simulate a machine.");
    Graph::Node added;
    added.copy.source_type = is_gpu(node.copy.source_place) ? kMemoryDevice : kMemoryHost;
    added.copy.destination_type = is_gpu(node.copy.destination_place) ? kMemoryDevice : kMemoryHost;
    added.copy.width = node.copy.bytes.value;
    added.destination = node.copy.destination;
    added.source = node.copy.source;
    added.context = copying_context(node.copy);
    place_addresses(imports_, added);
    std::vector<GraphNodePointer> after;
    for (const int earlier : node.after)
      after.push_back(made->nodes[static_cast<std::size_t>(earlier)].pointer);
    check(cuda_.graph_add_copy(&added.pointer, made->graph, after.data(), after.size(), &added.copy,
                               added.context),
          "cuGraphAddMemcpyNode");
    made->nodes.push_back(added);
  }
  check(cuda_.graph_instantiate(&made->executable, made->graph, 0), "cuGraphInstantiate");
  return {reinterpret_cast<std::uintptr_t>(made.release())};
}

CudaDriver::Graph& CudaDriver::graph_of(GraphHandle handle) {
  if (handle.value == 0)
    fail(ErrorCode::invalid_argument, "graph 0 does not exist", "it is no handle",
         "Pass a handle that instantiate returned.");
  return *reinterpret_cast<Graph*>(handle.value);
}

void CudaDriver::update_node(GraphHandle graph, int node, Address destination, Address source) {
  Graph& used = graph_of(graph);
  if (node < 0 || static_cast<std::size_t>(node) >= used.nodes.size())
    fail(ErrorCode::invalid_argument, "the graph has no such node", "it was made with fewer",
         "Pass the index of one of its nodes.");
  Graph::Node& changed = used.nodes[static_cast<std::size_t>(node)];
  const Current current(changed.context);
  changed.destination = destination;
  changed.source = source;
  place_addresses(imports_, changed);
  check(cuda_.graph_exec_set_copy(used.executable, changed.pointer, &changed.copy, changed.context),
        "cuGraphExecMemcpyNodeSetParams");
}

// The same address may by now be another import, or none: its second mappings are others then.
void CudaDriver::reach_imports(Graph& graph) {
  const std::uint64_t now = imports_.changes();
  if (graph.imports_then == now) return;
  for (Graph::Node& node : graph.nodes) {
    const Current current(node.context);
    place_addresses(imports_, node);
    check(cuda_.graph_exec_set_copy(graph.executable, node.pointer, &node.copy, node.context),
          "cuGraphExecMemcpyNodeSetParams");
  }
  graph.imports_then = now;
}

void CudaDriver::launch(GraphHandle graph, StreamHandle stream) {
  Graph& launched = graph_of(graph);
  reach_imports(launched);
  const Current current(context_of(stream.value));
  check(cuda_.graph_launch(launched.executable, pointer_of(stream)), "cuGraphLaunch");
  std::set<std::shared_ptr<SecondMapping>> used;
  for (const Graph::Node& node : launched.nodes)
    for (const auto& mapping : node.mappings) used.insert(mapping.lock());
  used.erase(nullptr);
  for (const auto& mapping : used) mapping->note_use(stream);
}

// CUDA keeps a graph that still runs until it has finished.
void CudaDriver::destroy_graph(GraphHandle graph) {
  const RelaxedCapture relaxed;
  const Current current(contexts_.any());
  delete &graph_of(graph);
}

}  // namespace polypath::cuda
