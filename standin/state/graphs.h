#pragma once
// Graphs of copies, and of values that are waited for and written, made by hand or by capture, and
// their executable forms.

#include <optional>

#include "standin/state/captures.h"
#include "standin/state/handles.h"
#include "standin/state/runner.h"

namespace polypath::standin {

struct Graph {
  std::uint64_t id = 0;
  std::vector<CopyNode> nodes;
};

struct GraphExec {
  std::uint64_t graph = 0;          ///< the id of what it was made of: nodes are named by that
  std::optional<GraphHandle> work;  ///< the runner's; none if there are no nodes
  std::vector<CopyNode> nodes;
};

class Graphs {
 public:
  Graphs(Runner& runner, bool chaotic)
      : runner_(runner), graphs_(3, chaotic), executables_(4, chaotic) {}

  GraphPointer create(std::vector<CopyNode> nodes = {});
  void destroy(GraphPointer graph) { graphs_.take(graph); }
  Graph& find(GraphPointer graph) const { return graphs_.find(graph); }
  /// Adds a copy after nodes of the same graph.
  GraphNodePointer add(GraphPointer graph, CopyNode node,
                       const std::vector<GraphNodePointer>& after) const;

  GraphExecPointer instantiate(GraphPointer graph);
  void destroy(GraphExecPointer graph);
  GraphExec& find(GraphExecPointer graph) const { return executables_.find(graph); }
  /// Gives a node other addresses, or a kernel other parameters. Refuses (graph update failure)
  /// other sizes, (invalid value) another kind of node.
  void update(GraphExecPointer graph, GraphNodePointer node, const CopyNode& changed);
  void launch(GraphExecPointer graph, StreamHandle stream);

 private:
  Runner& runner_;
  Handles<Graph, GraphPointer> graphs_;
  Handles<GraphExec, GraphExecPointer> executables_;
  std::uint64_t last_id_ = 0;
};

/// The pointer by which the program knows a node.
GraphNodePointer node_pointer(std::uint64_t graph_id, std::size_t index);

}  // namespace polypath::standin
