#pragma once
// A kernel that CUDA has loaded, and what CUDA wants to know of one run of it.

#include <cstdint>
#include <vector>

#include "driver/cuda/cuda_api.h"
#include "driver/cuda/cuda_driver.h"

namespace polypath::cuda {

struct CudaDriver::LoadedKernel {
  PlaceId gpu;
  ContextPointer context = nullptr;
  ModulePointer module = nullptr;
  FunctionPointer function = nullptr;
};

/// The parameters of a run, kept where CUDA's pointers to them stay good.
class KernelRun {
 public:
  KernelRun(FunctionPointer function, const KernelRequest& request);
  KernelRun(const KernelRun&) = delete;
  KernelRun& operator=(const KernelRun&) = delete;

  [[nodiscard]] const KernelParameters& parameters() const { return parameters_; }

 private:
  std::vector<std::uint64_t> words_;
  std::vector<void*> pointers_;
  KernelParameters parameters_;
};

}  // namespace polypath::cuda
