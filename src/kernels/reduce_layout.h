#pragma once
// What kernels know of a reduction (model/reduction.h): one number, 4·type + operation.

#include <cstdint>

namespace polypath {

inline constexpr std::uint64_t kReduceOperators = 4;

/// The values of a `reduce` kernel; its memory is the destination, then the source.
enum ReduceWord : std::uint64_t { kReductionCode, kReducedBytes, kReduceWords };

inline constexpr unsigned kReduceThreads = 512;  ///< of a block

}  // namespace polypath
