#include "driver/cuda/cuda_graph.h"

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "core/error.h"
#include "driver/cuda/handles.h"

namespace polypath::cuda {

// The parameters that an update has to state again: CUDA takes a node's parameters only as a whole.
struct CudaGraphs::Graph {
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
    std::optional<KernelRequest> kernel;  ///< instead of a copy
    bool reduces = false;                 ///< that kernel is a reduction's
    bool is_flag = false;                 ///< the same

    [[nodiscard]] bool is_copy() const { return !kernel && !is_flag; }
  };

  Node& at(int number) {
    if (number < 0 || static_cast<std::size_t>(number) >= nodes.size())
      fail(ErrorCode::invalid_argument, "the graph has no such node", "it was made with fewer",
           "Pass the index of one of its nodes.");
    return nodes[static_cast<std::size_t>(number)];
  }

  const Functions& cuda;
  GraphPointer graph = nullptr;
  GraphExecPointer executable = nullptr;
  std::vector<Node> nodes;
  std::uint64_t imports_then = 0;  ///< Imports::changes() when the addresses were put in
};

namespace {

[[noreturn]] void fail_as_kernel(bool is_kernel) {
  fail(ErrorCode::invalid_argument,
       is_kernel ? "the graph's node is a kernel" : "the graph's node is no kernel",
       "the two have different parameters", is_kernel ? "Use update_kernel." : "Use update_node.");
}

[[noreturn]] void fail_as_flag() {
  fail(ErrorCode::invalid_argument, "the graph's node cannot be updated",
       "it writes or awaits a flag", "Instantiate another graph.");
}

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

void CudaGraphs::add_copy(Graph& graph, const CopyRequest& copy, const Earlier& after) {
  Graph::Node added;
  added.copy.source_type = parts_.gpus.is_gpu(copy.source_place) ? kMemoryDevice : kMemoryHost;
  added.copy.destination_type =
      parts_.gpus.is_gpu(copy.destination_place) ? kMemoryDevice : kMemoryHost;
  added.copy.width = copy.bytes.value;
  added.destination = copy.destination;
  added.source = copy.source;
  added.context = parts_.copies.copying_context(copy);
  place_addresses(imports_, added);
  check(cuda_.graph_add_copy(&added.pointer, graph.graph, after.data(), after.size(), &added.copy,
                             added.context),
        "cuGraphAddMemcpyNode");
  graph.nodes.push_back(added);
}

void CudaGraphs::add_kernel(Graph& graph, const KernelRequest& kernel, const Earlier& after) {
  const CudaKernel& loaded = CudaKernels::kernel_of(kernel);
  parts_.kernels.connect_memory(kernel);
  const KernelRun run(loaded, loaded.ours.function, kernel);
  Graph::Node added;
  added.context = loaded.ours.context;
  added.kernel = kernel;
  const Current current(added.context);
  check(cuda_.graph_add_kernel(&added.pointer, graph.graph, after.data(), after.size(),
                               &run.parameters()),
        "cuGraphAddKernelNode");
  graph.nodes.push_back(std::move(added));
}

void CudaGraphs::add_reduction(Graph& graph, const GraphNode& node, const Earlier& after) {
  add_kernel(graph, parts_.reductions.request_of(node.copy, *node.reduction), after);
  graph.nodes.back().reduces = true;
}

// The same node writes the awaited word, after the wait.
void CudaGraphs::add_flag(Graph& graph, const FlagRequest& flag, const Earlier& after) {
  const int gpu = parts_.gpus.ordinal(flag.gpu);
  const Address word = parts_.flags.reach(flag.address, flag.place, gpu);
  std::array<MemoryOperation, 2> operations;
  operations[0] = {.operation = flag.waits ? kWaitValue32 : kWriteValue32,
                   .address = word.value,
                   .value = flag.value,
                   .flags = flag.waits ? kWaitEqual : kWriteDefault};
  if (flag.then)
    operations[1] = {.operation = kWriteValue32,
                     .address = word.value,
                     .value = *flag.then,
                     .flags = kWriteDefault};
  Graph::Node added;
  added.context = parts_.contexts.of(gpu);
  added.is_flag = true;
  const MemoryOperations all{.context = added.context,
                             .count = flag.waits && flag.then ? 2U : 1U,
                             .operations = operations.data()};
  const Current current(added.context);
  check_flags(cuda_.graph_add_flag(&added.pointer, graph.graph, after.data(), after.size(), &all),
              "cuGraphAddBatchMemOpNode");
  graph.nodes.push_back(std::move(added));
}

void CudaGraphs::add(Graph& graph, const GraphNode& node) {
  Earlier after;
  for (const int earlier : node.after)
    after.push_back(graph.nodes[static_cast<std::size_t>(earlier)].pointer);
  if (node.flag) add_flag(graph, *node.flag, after);
  else if (node.kernel) add_kernel(graph, *node.kernel, after);
  else if (node.reduction) add_reduction(graph, node, after);
  else add_copy(graph, node.copy, after);
}

GraphHandle CudaGraphs::instantiate(const std::vector<GraphNode>& nodes) {
  const RelaxedCapture relaxed;
  const Current current(parts_.contexts.any());
  auto made = std::make_unique<Graph>(cuda_);
  made->imports_then = imports_.changes();
  check(cuda_.graph_create(&made->graph, 0), "cuGraphCreate");
  for (const GraphNode& node : nodes) add(*made, node);
  check(cuda_.graph_instantiate(&made->executable, made->graph, 0), "cuGraphInstantiate");
  return {reinterpret_cast<std::uintptr_t>(made.release())};
}

CudaGraphs::Graph& CudaGraphs::graph_of(GraphHandle handle) {
  if (handle.value == 0)
    fail(ErrorCode::invalid_argument, "graph 0 does not exist", "it is no handle",
         "Pass a handle that instantiate returned.");
  return *reinterpret_cast<Graph*>(handle.value);
}

void CudaGraphs::update_node(GraphHandle handle, int number, Address destination, Address source) {
  Graph& graph = graph_of(handle);
  Graph::Node& node = graph.at(number);
  if (node.reduces) return set_memory(graph, number, {destination, destination, source});
  if (node.kernel) fail_as_kernel(true);
  if (node.is_flag) fail_as_flag();
  const Current current(node.context);
  node.destination = destination;
  node.source = source;
  place_addresses(imports_, node);
  check(cuda_.graph_exec_set_copy(graph.executable, node.pointer, &node.copy, node.context),
        "cuGraphExecMemcpyNodeSetParams");
}

void CudaGraphs::update_kernel(GraphHandle handle, int number, const std::vector<Address>& memory) {
  Graph& graph = graph_of(handle);
  const Graph::Node& node = graph.at(number);
  if (!node.kernel || node.reduces) fail_as_kernel(false);
  set_memory(graph, number, memory);
}

void CudaGraphs::set_memory(Graph& graph, int number, const std::vector<Address>& memory) const {
  Graph::Node& node = graph.at(number);
  KernelRequest changed = with_memory(*node.kernel, memory);
  const CudaKernel& loaded = CudaKernels::kernel_of(changed);
  const KernelRun run(loaded, loaded.ours.function, changed);
  const Current current(node.context);
  check(cuda_.graph_exec_set_kernel(graph.executable, node.pointer, &run.parameters()),
        "cuGraphExecKernelNodeSetParams");
  node.kernel = std::move(changed);
}

// The same address may by now be another import, or none: its second mappings are others then.
void CudaGraphs::reach_imports(Graph& graph) {
  const std::uint64_t now = imports_.changes();
  if (graph.imports_then == now) return;
  for (Graph::Node& node : graph.nodes) {
    if (!node.is_copy()) continue;
    const Current current(node.context);
    place_addresses(imports_, node);
    check(cuda_.graph_exec_set_copy(graph.executable, node.pointer, &node.copy, node.context),
          "cuGraphExecMemcpyNodeSetParams");
  }
  graph.imports_then = now;
}

void CudaGraphs::launch(GraphHandle graph, StreamHandle stream) {
  Graph& launched = graph_of(graph);
  reach_imports(launched);
  const Current current(parts_.streams.context_of(stream));
  check(cuda_.graph_launch(launched.executable, pointer_of(stream)), "cuGraphLaunch");
  std::set<std::shared_ptr<SecondMapping>> used;
  for (const Graph::Node& node : launched.nodes)
    for (const auto& mapping : node.mappings)
      if (auto reached = mapping.lock()) used.insert(std::move(reached));
  for (const auto& mapping : used) mapping->note_use(stream);
}

// CUDA keeps a graph that still runs until it has finished.
void CudaGraphs::destroy(GraphHandle graph) {
  const RelaxedCapture relaxed;
  const Current current(parts_.contexts.any());
  delete &graph_of(graph);
}

}  // namespace polypath::cuda
