#pragma once
// The kernel that adds up memory of one GPU, as the stand-in has it.

#include <array>
#include <vector>

#include "kernels/reduce_layout.h"
#include "standin/driver_api.h"
#include "support/layers.h"

namespace polypath::test {

/// Puts the sum of bytes into a stream, each modulo 256. `memory` is the result, then the operands.
inline cuda::Result add_up(const std::vector<cuda::DevicePointer>& memory, std::size_t bytes,
                           cuda::StreamPointer stream) {
  constexpr std::uint64_t kBytes = 8;  // ElementType::uint8
  void *module = nullptr, *function = nullptr;
  cu("cuModuleLoadData", &module, "reduce");
  cu("cuModuleGetFunction", &function, module, "reduce");
  std::vector<std::uint64_t> words(kReduceWords);
  words[kReductionCode] = kReduceOperators * kBytes;
  words[kReducedBytes] = bytes, words[kReducedOperands] = memory.size() - 1;
  words.insert(words.end(), memory.begin(), memory.end());
  std::size_t size = words.size() * sizeof words[0];
  std::array<void*, 5> extra{cuda::kParameterBuffer, words.data(), cuda::kParameterBufferSize,
                             &size, cuda::kParametersEnd};
  return cu("cuLaunchKernel", function, 1U, 1U, 1U, 1U, 1U, 1U, 0U, stream,
            static_cast<void**>(nullptr), extra.data());
}

}  // namespace polypath::test
