#include "standin/chaos/reduce_kernel.h"

#include "kernels/reduce.h"

namespace polypath::standin::chaos {

std::vector<std::uint64_t> ReduceKernel::memory_of(const KernelWork& kernel) {
  const auto begin = kernel.words.begin() + kReduceWords;
  return {begin, begin + 1 + static_cast<std::ptrdiff_t>(kernel.words[kReducedOperands])};
}

JobState ReduceKernel::step(Chance&) {
  std::vector<std::byte*> memory;
  for (const Place& place : memory_) memory.push_back(place.bytes);
  reduce_kernel().on_host(memory, {words_.data(), kReduceWords});
  return JobState::done;
}

}  // namespace polypath::standin::chaos
