#pragma once
// What a reduction does: element by element, destination = destination ∘ source.

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

enum class ReduceOperator { sum, minimum, maximum, product };

struct Reduction {
  ReduceOperator operation = ReduceOperator::sum;
  ElementType type = ElementType::float32;
};

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
/// around; those of 16-bit floating-point numbers are made in float32 and rounded each time.
void reduce_on_host(const Reduction& reduction, std::byte* destination, const std::byte* source,
                    Bytes bytes);

}  // namespace polypath
