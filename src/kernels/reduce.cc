#include "kernels/reduce.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/images.h"

namespace polypath::kernels {
namespace {

// A block for so many bytes, and no more blocks than that. On an H200 64 reduce 1140 GB/s, 128 1340
// and 32 790; links bring less than a half of that, and the program wants its multiprocessors for
// itself (results/h200x2/kernels.json).
constexpr std::uint64_t kBytesOfBlock = 64 << 10;
constexpr std::uint64_t kMostReduceBlocks = 64;

// The parameter of the step that adds one more operand to a result of so many values.
std::uint64_t values_of_step(std::span<const std::uint64_t> values, std::uint64_t into,
                             std::uint64_t operand) {
  return averaged_values(values[kReducedValues], into, values[kValuesOfOperands + operand]);
}

// The result may be any of the operands: some elements at a time are made beside them.
void reduce_memory(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  const std::span operands = memory.subspan(1, values[kReducedOperands]);
  std::array<std::byte, 4096> sum;
  for (std::uint64_t offset = 0; offset < values[kReducedBytes]; offset += sum.size()) {
    const Bytes bytes{std::min<std::uint64_t>(sum.size(), values[kReducedBytes] - offset)};
    std::memcpy(sum.data(), operands[0] + offset, bytes.value);
    std::uint64_t into = values[kValuesOfOperands];
    for (std::uint64_t next = 1; next < operands.size(); ++next) {
      const std::uint64_t step = values_of_step(values, into, next);
      reduce_on_host(reduction_of(values[kReductionCode], step), sum.data(),
                     operands[next] + offset, bytes);
      into += values[kValuesOfOperands + next];
    }
    std::memcpy(memory[0] + offset, sum.data(), bytes.value);
  }
}

}  // namespace

Kernel reduce_kernel() {
  return {.name = "reduce",
          .image = std::string(kernel_image("reduce")),
          .on_host = reduce_memory,
          .parameters = kReduceWords + 1 + kMostOperands};
}

std::vector<std::uint64_t> reduce_values(const Reduction& reduction, Bytes bytes,
                                         std::span<const int> values_of) {
  std::vector<std::uint64_t> values(kReduceWords);
  values[kReductionCode] = reduction_code(reduction);
  values[kReducedBytes] = bytes.value;
  values[kReducedOperands] = values_of.size();
  values[kReducedValues] = static_cast<std::uint64_t>(reduction.values);
  std::ranges::copy(values_of, values.begin() + kValuesOfOperands);
  return values;
}

std::uint64_t reduction_code(const Reduction& reduction) {
  return kReduceOperators * static_cast<std::uint64_t>(reduction.type) +
         static_cast<std::uint64_t>(reduction.operation);
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

}  // namespace polypath::kernels
