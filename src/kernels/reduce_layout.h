#pragma once
// The parameters of a reduction in kernels (model/reduction.h): a number, 5·type + operation, and
// of an average how many values it is of, and how many the two sides of one reduction are.

#include <cstdint>

#include "kernels/on_both.h"

namespace polypath::kernels {

inline constexpr std::uint64_t kReduceOperators = 5;
inline constexpr std::uint64_t kAverageOperator = 4;  ///< as in ReduceOperator, where sum is 0

/// Three numbers in one.
inline constexpr int kBitsOfValues = 20;
POLYPATH_ON_BOTH constexpr std::uint64_t averaged_values(std::uint64_t all, std::uint64_t into,
                                                         std::uint64_t from) {
  return all << 2 * kBitsOfValues | into << kBitsOfValues | from;
}
POLYPATH_ON_BOTH constexpr std::uint64_t all_values(std::uint64_t values) {
  return values >> 2 * kBitsOfValues;
}
POLYPATH_ON_BOTH constexpr std::uint64_t values_into(std::uint64_t values) {
  return values >> kBitsOfValues & ((1U << kBitsOfValues) - 1);
}
POLYPATH_ON_BOTH constexpr std::uint64_t values_from(std::uint64_t values) {
  return values & ((1U << kBitsOfValues) - 1);
}

/// Kernels with mailboxes are told the number of a reduction and, in the upper half, of how many
/// values an average is; they add up those of the ranks one after another.
POLYPATH_ON_BOTH constexpr std::uint64_t mail_reduction(std::uint64_t code, std::uint64_t all) {
  return code | all << 32;
}
POLYPATH_ON_BOTH constexpr std::uint64_t code_of_mail(std::uint64_t reduction) {
  return reduction & 0xffffffff;
}
/// When so many are added up, and one more is.
POLYPATH_ON_BOTH constexpr std::uint64_t values_of_mail(std::uint64_t reduction,
                                                        std::uint64_t added) {
  return averaged_values(reduction >> 32, added, 1);
}

/// How many operands a `reduce` kernel has at most.
inline constexpr std::uint64_t kMostOperands = 8;

/// The values of a `reduce` kernel; its memory is the result, then the operands. For an average,
/// they are followed by the number of values of each operand.
enum ReduceWord : std::uint64_t {
  kReductionCode,
  kReducedBytes,
  kReducedOperands,
  kReducedValues,  ///< of an average
  kValuesOfOperands,
  kReduceWords = kValuesOfOperands + kMostOperands
};

inline constexpr unsigned kReduceThreads = 512;  ///< of a block

}  // namespace polypath::kernels
