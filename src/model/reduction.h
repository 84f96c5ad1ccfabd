#pragma once
// What a reduction does: element by element, destination = destination ∘ source.

#include <cstddef>

#include "core/units.h"

namespace polypath {

enum class ElementType { float32, float64, int32, int64 };

enum class ReduceOperator { sum, minimum, maximum };

struct Reduction {
  ReduceOperator operation = ReduceOperator::sum;
  ElementType type = ElementType::float32;
};

constexpr Bytes bytes_of(ElementType type) {
  const bool wide = type == ElementType::float64 || type == ElementType::int64;
  return {wide ? 8U : 4U};
}

/// The same on the host, for `bytes` bytes of whole elements. Sums of integers wrap around.
void reduce_on_host(const Reduction& reduction, std::byte* destination, const std::byte* source,
                    Bytes bytes);

}  // namespace polypath
