#include "kernels/reduce.h"

#include <algorithm>

#include "kernels/images.h"

namespace polypath {
namespace {

// A block for so many bytes, and no more blocks than that. On an H200 64 reduce 1140 GB/s, 128 1340
// and 32 790; what links bring is less than a half of that, and the program wants its
// multiprocessors for itself (results/h200x2/kernels.json).
constexpr std::uint64_t kBytesOfBlock = 64 << 10;
constexpr std::uint64_t kMostReduceBlocks = 64;

void reduce_memory(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  reduce_on_host(reduction_of(values[kReductionCode], values[kReducedValues]), memory[0], memory[1],
                 Bytes{values[kReducedBytes]});
}

}  // namespace

Kernel reduce_kernel() {
  return {.name = "reduce",
          .image = std::string(kernel_image("reduce")),
          .on_host = reduce_memory,
          .parameters = kReduceWords + 2};
}

std::vector<std::uint64_t> reduce_values(const Reduction& reduction, Bytes bytes) {
  return {reduction_code(reduction), bytes.value, averaged_values(reduction)};
}

std::uint64_t reduction_code(const Reduction& reduction) {
  return kReduceOperators * static_cast<std::uint64_t>(reduction.type) +
         static_cast<std::uint64_t>(reduction.operation);
}

std::uint64_t averaged_values(const Reduction& reduction) {
  return averaged_values(static_cast<std::uint64_t>(reduction.values),
                         static_cast<std::uint64_t>(reduction.into),
                         static_cast<std::uint64_t>(reduction.from));
}

Reduction reduction_of(std::uint64_t code, std::uint64_t values) {
  return {.operation = static_cast<ReduceOperator>(code % kReduceOperators),
          .type = static_cast<ElementType>(code / kReduceOperators),
          .values = static_cast<int>(all_values(values)),
          .into = static_cast<int>(values_into(values)),
          .from = static_cast<int>(values_from(values))};
}

LaunchShape reduce_shape(Bytes bytes) {
  const std::uint64_t blocks = (bytes.value + kBytesOfBlock - 1) / kBytesOfBlock;
  return {.blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(blocks, 1, kMostReduceBlocks)),
          .threads_per_block = kReduceThreads};
}

}  // namespace polypath
