#pragma once
// The kernel that reduces memory of one GPU (kernels/reduce.h), as a job: all of it in one step.

#include <cstdint>
#include <utility>
#include <vector>

#include "standin/chaos/copying.h"
#include "standin/state/work.h"

namespace polypath::standin::chaos {

inline constexpr const char* kReduceKernel = "reduce";

class ReduceKernel final : public Job {
 public:
  /// `memory` is where the words memory_of() are.
  ReduceKernel(const KernelWork& kernel, std::vector<Place> memory)
      : words_(kernel.words), memory_(std::move(memory)) {}
  static std::vector<std::uint64_t> memory_of(const KernelWork& kernel);
  JobState step(Chance& chance) override;

 private:
  std::vector<std::uint64_t> words_;
  std::vector<Place> memory_;  ///< the result, then the operands
};

}  // namespace polypath::standin::chaos
