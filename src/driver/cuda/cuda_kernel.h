#pragma once
// Kernels: loaded for a GPU, and run there.

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "driver/cuda/contexts.h"
#include "driver/cuda/cuda_gpus.h"
#include "driver/cuda/cuda_memory.h"
#include "driver/cuda/cuda_streams.h"
#include "driver/cuda/imports.h"
#include "driver/cuda/peer_links.h"
#include "driver/driver.h"

namespace polypath::cuda {

/// A kernel in one context.
struct KernelInContext {
  ContextPointer context = nullptr;
  ModulePointer module = nullptr;
  FunctionPointer function = nullptr;
};

/// A kernel that CUDA has loaded.
struct CudaKernel {
  PlaceId gpu;
  Kernel kernel;
  KernelInContext ours;
  std::mutex mutex;
  KernelInContext programs;     ///< loaded when first run in a stream of the program's
  std::size_t parameters = 0;   ///< as Kernel::parameters
  unsigned most_that_meet = 0;  ///< blocks of a kernel that meets others; 0: any number
};

/// The parameters of a run, one after another, kept where CUDA's pointers to them stay good.
class KernelRun {
 public:
  KernelRun(const CudaKernel& kernel, FunctionPointer function, const KernelRequest& request);
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

/// Thread-safe. The functions are those of Driver with the same names.
class CudaKernels {
 public:
  CudaKernels(const CudaGpus& gpus, Contexts& contexts, PeerLinks& peers, CudaStreams& streams,
              CudaMemory& memory);

  KernelHandle load(PlaceId gpu, const Kernel& kernel);
  void unload(KernelHandle kernel) const;
  [[nodiscard]] bool reach(PlaceId gpu, Address address);
  void run(const KernelRequest& request, StreamHandle stream);

  /// The kernel of a run. Error (invalid_argument) if it cannot run so.
  [[nodiscard]] static CudaKernel& kernel_of(const KernelRequest& request);
  /// Opens to the run's GPU what it uses of other GPUs' memory.
  void connect_memory(const KernelRequest& request);

 private:
  [[nodiscard]] KernelInContext load(const Kernel& kernel, ContextPointer context) const;
  [[nodiscard]] KernelInContext copy_for(CudaKernel& loaded, StreamHandle stream);

  const Functions& cuda_;
  const CudaGpus& gpus_;
  Contexts& contexts_;
  PeerLinks& peers_;
  CudaStreams& streams_;
  CudaMemory& memory_;
  Imports& imports_ = Imports::of_process();
};

/// A kernel of ours, loaded for a GPU when it is needed there for the first time. Thread-safe.
class OwnKernel {
 public:
  using Maker = Kernel (*)();

  OwnKernel(CudaKernels& kernels, const Contexts& contexts, Maker maker)
      : kernels_(kernels), contexts_(contexts), maker_(maker) {}
  OwnKernel(const OwnKernel&) = delete;
  OwnKernel& operator=(const OwnKernel&) = delete;
  /// Unloads all of them. Does nothing in a forked child.
  ~OwnKernel();

  KernelHandle of(PlaceId gpu);

 private:
  CudaKernels& kernels_;
  const Contexts& contexts_;
  Maker maker_;
  std::mutex mutex_;
  std::map<PlaceId, KernelHandle> loaded_;
};

}  // namespace polypath::cuda
