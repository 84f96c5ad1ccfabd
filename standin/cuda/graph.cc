// Graphs of copies and values.

#include "standin/state/process.h"

namespace polypath::standin {
namespace {

// One linear piece of memory, which is all that nodes copy here.
CopyNode node_of(const Memcpy3D* copy) {
  if (copy == nullptr) refuse(kInvalidValue, "there is nothing to copy");
  const std::size_t offsets = copy->source_x + copy->source_y + copy->source_z +
                              copy->destination_x + copy->destination_y + copy->destination_z;
  if (copy->height != 1 || copy->depth != 1 || offsets != 0)
    refuse(kNotSupported, "nodes copy linear memory only");
  const bool from_host = copy->source_type == cuda::kMemoryHost;
  const bool to_host = copy->destination_type == cuda::kMemoryHost;
  const std::uintptr_t from =
      from_host ? reinterpret_cast<std::uintptr_t>(copy->source_host) : copy->source_device;
  const std::uintptr_t to =
      to_host ? reinterpret_cast<std::uintptr_t>(copy->destination_host) : copy->destination_device;
  return {{to}, {from}, {copy->width}, {}};
}

// Words of 32 bits, compared for being equal: all that Polypath uses.
ValueStep step_of(const MemoryOperation& operation) {
  const bool waits = operation.operation == cuda::kWaitValue32;
  if (!waits && operation.operation != cuda::kWriteValue32)
    refuse(kNotSupported, "nodes wait for words of 32 bits and write them, and nothing else");
  if (waits && operation.flags != cuda::kWaitEqual)
    refuse(kNotSupported, "nodes wait for words to be equal, and nothing else");
  if (operation.address % sizeof(std::uint32_t) != 0)
    refuse(kInvalidValue, "the address is not aligned");
  return {{{static_cast<std::uintptr_t>(operation.address)},
           operation.value & 0xffffffffU,
           {sizeof(std::uint32_t)},
           Comparison::equal},
          waits};
}

CopyNode node_of(Process& process, const MemoryOperations* all) {
  if (all == nullptr || all->count == 0) refuse(kInvalidValue, "there is nothing to do");
  (void)process.contexts.find(all->context);
  CopyNode node;
  for (unsigned i = 0; i < all->count; ++i) {
    node.values.push_back(step_of(all->operations[i]));
    (void)process.allocations.get(node.values.back().value.address);
  }
  return node;
}

Result instantiate(const char* name, GraphExecPointer* where, GraphPointer graph) {
  return enter(name, [&](Process& process) {
    process.check_no_capture();
    if (where == nullptr) refuse(kInvalidValue, "the result has nowhere to go");
    *where = process.graphs.instantiate(graph);
  });
}

Result launch(GraphExecPointer graph, StreamArgument argument) {
  return enter("cuGraphLaunch", [&](Process& process) {
    Stream& stream = process.stream(argument, WorkKind::graph);
    if (stream.capturing.active())
      spoil(stream.capturing, kCaptureUnsupported, "graphs here have no graphs in them");
    process.graphs.launch(graph, stream.work);
  });
}

void list_nodes(const Graph& graph, GraphNodePointer* nodes, std::size_t* count) {
  if (count == nullptr) refuse(kInvalidValue, "the result has nowhere to go");
  if (nodes != nullptr)
    for (std::size_t i = 0; i < std::min(*count, graph.nodes.size()); ++i)
      nodes[i] = node_pointer(graph.id, i);
  *count = graph.nodes.size();
}

}  // namespace
}  // namespace polypath::standin

using namespace polypath::standin;

STANDIN_EXPORT Result cuGraphCreate(GraphPointer* where, unsigned) {
  return enter("cuGraphCreate", [&](Process& process) { store(where, process.graphs.create()); });
}

STANDIN_EXPORT Result cuGraphDestroy(GraphPointer graph) {
  return enter("cuGraphDestroy", [&](Process& process) { process.graphs.destroy(graph); });
}

STANDIN_EXPORT Result cuGraphGetNodes(GraphPointer graph, GraphNodePointer* nodes,
                                      std::size_t* count) {
  return enter("cuGraphGetNodes",
               [&](Process& process) { list_nodes(process.graphs.find(graph), nodes, count); });
}

STANDIN_EXPORT Result cuGraphAddMemcpyNode(GraphNodePointer* where, GraphPointer graph,
                                           const GraphNodePointer* after, std::size_t count,
                                           const Memcpy3D* copy, ContextPointer context) {
  return enter("cuGraphAddMemcpyNode", [&](Process& process) {
    (void)process.contexts.find(context);
    store(where, process.graphs.add(graph, node_of(copy), {after, after + count}));
  });
}

STANDIN_EXPORT Result cuGraphAddBatchMemOpNode(GraphNodePointer* where, GraphPointer graph,
                                               const GraphNodePointer* after, std::size_t count,
                                               const MemoryOperations* operations) {
  return enter("cuGraphAddBatchMemOpNode", [&](Process& process) {
    store(where, process.graphs.add(graph, node_of(process, operations), {after, after + count}));
  });
}

STANDIN_EXPORT Result cuGraphInstantiateWithFlags(GraphExecPointer* where, GraphPointer graph,
                                                  unsigned long long) {
  return instantiate("cuGraphInstantiateWithFlags", where, graph);
}

STANDIN_EXPORT Result cuGraphInstantiate_v2(GraphExecPointer* where, GraphPointer graph,
                                            GraphNodePointer*, char*, std::size_t) {
  return instantiate("cuGraphInstantiate", where, graph);
}

STANDIN_EXPORT Result cuGraphExecMemcpyNodeSetParams(GraphExecPointer graph, GraphNodePointer node,
                                                     const Memcpy3D* copy, ContextPointer context) {
  return enter("cuGraphExecMemcpyNodeSetParams", [&](Process& process) {
    (void)process.contexts.find(context);
    process.graphs.update(graph, node, node_of(copy));
  });
}

STANDIN_BOTH(cuGraphLaunch, _ptsz, (GraphExecPointer graph, StreamPointer stream),
             launch(graph, {stream, kZero}))

STANDIN_EXPORT Result cuGraphExecDestroy(GraphExecPointer graph) {
  return enter("cuGraphExecDestroy", [&](Process& process) {
    process.check_no_capture();
    process.graphs.destroy(graph);
  });
}
