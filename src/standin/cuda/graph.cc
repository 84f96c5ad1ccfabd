// Graphs of copies.

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
