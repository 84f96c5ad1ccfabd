#pragma once
// Copies, one by one: who makes each, and the access that it needs to both ends.

#include "driver/cuda/contexts.h"
#include "driver/cuda/cuda_gpus.h"
#include "driver/cuda/cuda_streams.h"
#include "driver/cuda/imports.h"
#include "driver/cuda/peer_links.h"
#include "driver/driver.h"

namespace polypath::cuda {

/// Thread-safe. The functions are those of Driver with the same names.
class CudaCopies {
 public:
  CudaCopies(const CudaGpus& gpus, Contexts& contexts, PeerLinks& peers, CudaStreams& streams);

  void copy(const CopyRequest& request, StreamHandle stream);
  void copy_native(const NativeCopy& request, StreamHandle stream);
  void open_hop(PlaceId source, PlaceId destination, bool pulled);
  /// The context for the copy as a node of a graph, where both ends are open to it.
  [[nodiscard]] ContextPointer copying_context(const CopyRequest& request);

 private:
  [[nodiscard]] int copying_gpu(const CopyRequest& request) const;
  void connect(const CopyRequest& request, int copying_gpu, bool programs);
  void connect(const CopyRequest& request, StreamHandle stream);
  void enqueue(const CopyRequest& request, StreamPointer stream);

  const Functions& cuda_;
  const CudaGpus& gpus_;
  Contexts& contexts_;
  PeerLinks& peers_;
  CudaStreams& streams_;
  Imports& imports_ = Imports::of_process();
};

}  // namespace polypath::cuda
