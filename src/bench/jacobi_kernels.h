#pragma once
// The Jacobi kernel, loaded for the GPUs of a grid.

#include <vector>

#include "bench/jacobi_grid.h"
#include "core/ignore_errors.h"
#include "driver/driver.h"
#include "kernels/jacobi.h"

namespace polypath::bench {

class JacobiKernels {
 public:
  JacobiKernels(Driver& driver, const Machine& machine, const JacobiGrid& grid)
      : driver_(driver), handles_(machine.places.size()) {
    for (const PlaceId gpu : grid.gpus)
      handles_[gpu.index()] = driver.load_kernel(gpu, jacobi_kernel());
  }
  JacobiKernels(const JacobiKernels&) = delete;
  JacobiKernels& operator=(const JacobiKernels&) = delete;
  /// Nothing queued may use them.
  ~JacobiKernels() {
    for (const KernelHandle kernel : handles_)
      if (kernel.value != 0) ignore_errors([&] { driver_.unload_kernel(kernel); });
  }

  /// By place; none where there is no GPU of the grid.
  [[nodiscard]] const std::vector<KernelHandle>& handles() const { return handles_; }
  [[nodiscard]] KernelHandle of(PlaceId gpu) const { return handles_[gpu.index()]; }

 private:
  Driver& driver_;
  std::vector<KernelHandle> handles_;
};

}  // namespace polypath::bench
