#pragma once
// Which of a machine's places are which of CUDA's GPUs.

#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "machine/machine.h"

namespace polypath::cuda {

class CudaGpus {
 public:
  /// `gpus`: the numbers of the machine's GPUs (gpu_facts.h), none: the visible ones in CUDA's
  /// order. Error (invalid_machine) if the machine has more GPUs than there are.
  CudaGpus(const Machine& machine, const std::vector<int>& gpus);

  [[nodiscard]] bool is_gpu(PlaceId place) const {
    return place.valid() && place.index() < ordinals_.size() && ordinals_[place.index()] >= 0;
  }
  /// A GPU's number; of one that this process does not see it is none of CUDA's. Error
  /// (invalid_argument) if it is none.
  [[nodiscard]] int ordinal(PlaceId gpu) const {
    if (!is_gpu(gpu)) fail_as_no_gpu(gpu);
    return ordinals_[gpu.index()];
  }
  /// Invalid if the machine leaves that GPU out.
  [[nodiscard]] PlaceId place_of(int ordinal) const {
    const auto index = static_cast<std::size_t>(ordinal);
    return index < places_.size() ? places_[index] : PlaceId{};
  }
  /// The GPU of a handle (handles.h); zero is the default stream, of the first GPU. Error
  /// (invalid_argument) for a handle that the driver did not make.
  [[nodiscard]] int of_handle(std::uintptr_t handle) const;
  /// The host that pinned and pageable memory is taken to be in.
  [[nodiscard]] PlaceId host() const { return host_; }

 private:
  [[noreturn]] static void fail_as_no_gpu(PlaceId place);

  std::vector<int> ordinals_;    ///< by place; -1 for hosts
  std::vector<PlaceId> places_;  ///< by ordinal; invalid: the machine leaves that one out
  PlaceId host_;
};

}  // namespace polypath::cuda
