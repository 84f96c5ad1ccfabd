#pragma once
// Reductions on GPUs: a kernel of ours.

#include "driver/cuda/cuda_kernel.h"
#include "driver/driver.h"

namespace polypath::cuda {

/// Thread-safe.
class CudaReductions {
 public:
  CudaReductions(CudaKernels& kernels, const Contexts& contexts);

  /// As Driver::reduce.
  void reduce(const CopyRequest& request, const Reduction& reduction, StreamHandle stream);
  /// The run of the kernel that does it.
  [[nodiscard]] KernelRequest request_of(const CopyRequest& request, const Reduction& reduction);

 private:
  CudaKernels& kernels_;
  OwnKernel kernel_;
};

}  // namespace polypath::cuda
