#pragma once
// Reductions: element by element, destination = destination ∘ source.
//
// An average of n values is their sum divided by n, and is what it should be wherever that is
// representable, though the sum may not be. On the way, p of the values are not their sum S but
//
//   A(p) = S·2^-e(p), e(p) = ⌈log₂ p⌉, so that |A(p)| is at most the largest |x|
//
// A reduction of p and q values makes A(p + q) = A(p)·2^(e(p)−e(p+q)) + A(q)·2^(e(q)−e(p+q)),
// rounded once; the last one, with p + q = n, divides that by n·2^-e(n), which is above 1/2 and at
// most 1. Powers of 2 do not round: the bits are those of the sum, rounded each time, divided by n,
// except where that would be infinite, and where an A(p) is so small that it is subnormal: then it
// is off by (n + 1)/2 times the type's least number at most. 16-bit numbers are computed with in
// float32 and rounded each time.
//
// The least and the largest of values do not depend on their order: -0 is less than 0, and where
// one of the values is not a number, neither is the result. A result that is not a number has the
// bits that GPUs give it, all set but the sign, so that those do not depend on the order either.

#include <compare>
#include <cstddef>
#include <cstdint>

#include "core/units.h"

namespace polypath::model {

enum class ElementType {
  float32,
  float64,
  int32,
  int64,
  float16,   ///< IEEE 754 binary16
  bfloat16,  ///< the upper half of a float32
  int8,
  int16,
  uint8,
  uint16,
  uint32,
  uint64,
  boolean,  ///< from here on they are moved only
  float8_e4m3fn,
  float8_e5m2,
  float8_e4m3fnuz,
  float8_e5m2fnuz,
  float8_e8m0fnu,
};

enum class ReduceOperator { sum, minimum, maximum, product, average };

struct Reduction {
  ReduceOperator operation = ReduceOperator::sum;
  ElementType type = ElementType::float32;
  // Of an average; of others without meaning.
  int values = 1;          ///< n; of collectives at least as many as there are ranks
  int into = 1, from = 1;  ///< how many of them the destination and the source are of

  auto operator<=>(const Reduction&) const = default;
};

/// e(p): how many times p values are halved while they are averaged.
constexpr int halvings_of(int values) {
  int times = 0;
  while ((std::int64_t{1} << times) < values) ++times;
  return times;
}

constexpr bool is_floating_point(ElementType type) {
  return type == ElementType::float16 || type == ElementType::bfloat16 ||
         type == ElementType::float32 || type == ElementType::float64;
}

/// True if another order of several values may give other bits: rounding depends on it.
constexpr bool depends_on_order(const Reduction& reduction) {
  return is_floating_point(reduction.type) && reduction.operation != ReduceOperator::minimum &&
         reduction.operation != ReduceOperator::maximum;
}

/// True of types that are moved as they are and never reduced.
constexpr bool only_moves(ElementType type) { return type >= ElementType::boolean; }

/// False of types that are only moved, and of averages of whole numbers, which are not whole.
constexpr bool can_reduce(ReduceOperator operation, ElementType type) {
  return !only_moves(type) && (operation != ReduceOperator::average || is_floating_point(type));
}

constexpr Bytes bytes_of(ElementType type) {
  switch (type) {
    case ElementType::float16:
    case ElementType::bfloat16:
    case ElementType::int16:
    case ElementType::uint16: return {2U};
    case ElementType::float32:
    case ElementType::int32:
    case ElementType::uint32: return {4U};
    case ElementType::float64:
    case ElementType::int64:
    case ElementType::uint64: return {8U};
    default: return {1U};
  }
}

/// The same on the host, for `bytes` bytes of whole elements. Sums and products of integers wrap
/// around; those of 16-bit floating-point numbers are made in float32 and rounded each time. An
/// average of whole numbers is their sum.
void reduce_on_host(const Reduction& reduction, std::byte* destination, const std::byte* source,
                    Bytes bytes);

}  // namespace polypath::model
