#pragma once
// The kernel that adds up memory of one GPU (kernels/reduce.h), as a job.

#include <cstdint>
#include <utility>
#include <vector>

#include "standin/chaos/copying.h"
#include "standin/state/work.h"

namespace polypath::standin::chaos {

class ReduceKernel final : public Job {
 public:
  /// `memory` is the result, then the operands.
  ReduceKernel(const KernelWork& kernel, std::vector<Place> memory)
      : words_(kernel.words), memory_(std::move(memory)) {}
  static bool is_one(const KernelWork& kernel);
  static std::vector<std::uint64_t> memory_of(const KernelWork& kernel);
  JobState step(Chance& chance) override;

 private:
  std::vector<std::uint64_t> words_;
  std::vector<Place> memory_;
};

}  // namespace polypath::standin::chaos
