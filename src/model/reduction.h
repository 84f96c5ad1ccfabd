#pragma once
// What a reduction does: element by element, destination = destination ∘ source.
//
// An average of n values is their sum divided by n, once, after all have been added and rounded:
// the last reduction of a sum does both, destination = (destination + source) / n. All before it
// are sums. 16-bit floating-point numbers are divided in float32.
//
// The least and the largest of values do not depend on their order: -0 is less than 0, and of
// values one of which is not a number that one is what there is.

#include <cstddef>

#include "core/units.h"

namespace polypath {

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
};

enum class ReduceOperator { sum, minimum, maximum, product, average };

struct Reduction {
  ReduceOperator operation = ReduceOperator::sum;
  ElementType type = ElementType::float32;
  int divisor = 1;  ///< n of an average; of others without meaning
};

constexpr bool is_floating_point(ElementType type) {
  return type == ElementType::float16 || type == ElementType::bfloat16 ||
         type == ElementType::float32 || type == ElementType::float64;
}

/// True if another order of several values may give other bits, but for the bits of what is not a
/// number: rounding depends on it.
constexpr bool depends_on_order(const Reduction& reduction) {
  return is_floating_point(reduction.type) && reduction.operation != ReduceOperator::minimum &&
         reduction.operation != ReduceOperator::maximum;
}

/// False of averages of whole numbers, which are not whole.
constexpr bool can_reduce(ReduceOperator operation, ElementType type) {
  return operation != ReduceOperator::average || is_floating_point(type);
}

constexpr Bytes bytes_of(ElementType type) {
  switch (type) {
    case ElementType::int8:
    case ElementType::uint8: return {1U};
    case ElementType::float16:
    case ElementType::bfloat16:
    case ElementType::int16:
    case ElementType::uint16: return {2U};
    case ElementType::float32:
    case ElementType::int32:
    case ElementType::uint32: return {4U};
    case ElementType::float64:
    case ElementType::int64:
    case ElementType::uint64: break;
  }
  return {8U};
}

/// The same on the host, for `bytes` bytes of whole elements. Sums and products of integers wrap
/// around; those of 16-bit floating-point numbers are made in float32 and rounded each time. An
/// average of whole numbers is their sum.
void reduce_on_host(const Reduction& reduction, std::byte* destination, const std::byte* source,
                    Bytes bytes);

}  // namespace polypath
