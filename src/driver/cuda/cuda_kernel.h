#pragma once
// A kernel that CUDA has loaded, and what CUDA wants to know of one run of it.

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "driver/cuda/cuda_api.h"
#include "driver/cuda/cuda_driver.h"

namespace polypath::cuda {

/// A kernel in one context.
struct CudaDriver::LoadedIn {
  ContextPointer context = nullptr;
  ModulePointer module = nullptr;
  FunctionPointer function = nullptr;
};

struct CudaDriver::LoadedKernel {
  PlaceId gpu;
  Kernel kernel;
  LoadedIn ours;
  std::mutex mutex;
  LoadedIn programs;            ///< loaded when first run in a stream of the program's
  std::size_t parameters = 0;   ///< as Kernel::parameters
  unsigned most_that_meet = 0;  ///< blocks of a kernel that meets others; 0: any number
};

/// The parameters of a run, one after another, kept where CUDA's pointers to them stay good.
class KernelRun {
 public:
  KernelRun(const CudaDriver::LoadedKernel& kernel, FunctionPointer function,
            const KernelRequest& request);
  KernelRun(const KernelRun&) = delete;
  KernelRun& operator=(const KernelRun&) = delete;

  [[nodiscard]] const KernelParameters& parameters() const { return parameters_; }

 private:
  std::array<std::uint64_t, 32> few_{};  // no memory is asked for where these are enough
  std::vector<std::uint64_t> many_;
  std::size_t bytes_;
  std::array<void*, 5> extra_;
  KernelParameters parameters_;
};

}  // namespace polypath::cuda
