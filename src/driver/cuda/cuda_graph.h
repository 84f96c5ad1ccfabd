#pragma once
// Executable graphs.

#include <vector>

#include "driver/cuda/contexts.h"
#include "driver/cuda/cuda_copies.h"
#include "driver/cuda/cuda_flag.h"
#include "driver/cuda/cuda_gpus.h"
#include "driver/cuda/cuda_kernel.h"
#include "driver/cuda/cuda_reduce.h"
#include "driver/cuda/cuda_streams.h"
#include "driver/cuda/imports.h"
#include "driver/driver.h"

namespace polypath::cuda {

/// What a graph is made of.
struct GraphParts {
  const CudaGpus& gpus;
  Contexts& contexts;
  CudaStreams& streams;
  CudaCopies& copies;
  CudaKernels& kernels;
  CudaReductions& reductions;
  CudaFlags& flags;
};

/// Thread-safe, but for one graph. The functions are those of Driver with the same names.
class CudaGraphs {
 public:
  explicit CudaGraphs(const GraphParts& parts) : cuda_(functions()), parts_(parts) {}

  GraphHandle instantiate(const std::vector<GraphNode>& nodes);
  void update_node(GraphHandle graph, int node, Address destination, Address source);
  void update_kernel(GraphHandle graph, int node, const std::vector<Address>& memory);
  void launch(GraphHandle graph, StreamHandle stream);
  void destroy(GraphHandle graph);

 private:
  struct Graph;
  using Earlier = std::vector<GraphNodePointer>;

  void add(Graph& graph, const GraphNode& node);
  void add_copy(Graph& graph, const CopyRequest& copy, const Earlier& after);
  void add_kernel(Graph& graph, const KernelRequest& kernel, const Earlier& after);
  void add_reduction(Graph& graph, const GraphNode& node, const Earlier& after);
  void add_flag(Graph& graph, const FlagRequest& flag, const Earlier& after);
  void set_memory(Graph& graph, int node, const std::vector<Address>& memory) const;
  void reach_imports(Graph& graph);
  [[nodiscard]] static Graph& graph_of(GraphHandle handle);

  const Functions& cuda_;
  GraphParts parts_;
  Imports& imports_ = Imports::of_process();
};

}  // namespace polypath::cuda
