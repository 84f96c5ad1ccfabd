#pragma once
// Words of memory that streams and graphs write and wait for.

#include <cstdint>

#include "driver/cuda/contexts.h"
#include "driver/cuda/cuda_gpus.h"
#include "driver/cuda/cuda_kernel.h"
#include "driver/cuda/cuda_streams.h"
#include "driver/cuda/imports.h"
#include "driver/cuda/peer_links.h"
#include "driver/driver.h"

namespace polypath::cuda {

/// As check(), but a GPU or driver without such calls is an Error (unsupported) in words.
void check_flags(Result result, const char* call);

/// Thread-safe. The functions are those of Driver with the same names.
class CudaFlags {
 public:
  CudaFlags(const CudaGpus& gpus, Contexts& contexts, PeerLinks& peers, CudaStreams& streams,
            CudaKernels& kernels);

  void write_value(StreamHandle stream, Address address, PlaceId place, std::uint32_t value);
  void wait_value(StreamHandle stream, Address address, PlaceId place, std::uint32_t value);
  void await(const FlagRequest& flag, StreamHandle stream);
  void signal(Address address, PlaceId place, std::uint32_t value);
  /// The word's address for the GPU.
  [[nodiscard]] Address reach(Address address, PlaceId place, int gpu);

 private:
  const Functions& cuda_;
  const CudaGpus& gpus_;
  Contexts& contexts_;
  PeerLinks& peers_;
  CudaStreams& streams_;
  CudaKernels& kernels_;
  OwnKernel await_kernel_;
  Imports& imports_ = Imports::of_process();
};

}  // namespace polypath::cuda
