#pragma once
// What kernels know of a reduction (model/reduction.h): a number, 5·type + operation, and of an
// average how many values it is of. `reduce` divides what it writes, each element once, after it
// has been added and rounded: only the last reduction of a sum is an average. Kernels with
// mailboxes, which make whole sums, divide those, by the number of ranks.

#include <cstdint>

#include "kernels/on_both.h"

namespace polypath {

inline constexpr std::uint64_t kReduceOperators = 5;
inline constexpr std::uint64_t kAverageOperator = 4;  ///< as in ReduceOperator, where sum is 0

/// What is done to all values of a reduction but the last one: those of an average are added.
POLYPATH_ON_BOTH constexpr std::uint64_t before_last(std::uint64_t code) {
  return code % kReduceOperators == kAverageOperator ? code - kAverageOperator : code;
}

/// The values of a `reduce` kernel; its memory is the destination, then the source.
enum ReduceWord : std::uint64_t { kReductionCode, kReducedBytes, kReduceDivisor, kReduceWords };

inline constexpr unsigned kReduceThreads = 512;  ///< of a block

}  // namespace polypath
