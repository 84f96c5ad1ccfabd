#include "model/reduction.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace polypath {
namespace {

template <class Element>
Element sum_of(Element a, Element b) {
  if constexpr (std::is_floating_point_v<Element>) return a + b;
  else {
    using Unsigned = std::make_unsigned_t<Element>;
    return static_cast<Element>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  }
}

template <class Element>
Element combined(ReduceOperator operation, Element a, Element b) {
  switch (operation) {
    case ReduceOperator::sum: return sum_of(a, b);
    case ReduceOperator::minimum: return std::min(a, b);
    case ReduceOperator::maximum: return std::max(a, b);
  }
  return a;
}

// The memory need not be aligned.
template <class Element>
void reduce(ReduceOperator operation, std::byte* destination, const std::byte* source,
            Bytes bytes) {
  for (std::uint64_t offset = 0; offset < bytes.value; offset += sizeof(Element)) {
    Element a, b;
    std::memcpy(&a, destination + offset, sizeof a);
    std::memcpy(&b, source + offset, sizeof b);
    a = combined(operation, a, b);
    std::memcpy(destination + offset, &a, sizeof a);
  }
}

}  // namespace

void reduce_on_host(const Reduction& reduction, std::byte* destination, const std::byte* source,
                    Bytes bytes) {
  switch (reduction.type) {
    case ElementType::float32:
      return reduce<float>(reduction.operation, destination, source, bytes);
    case ElementType::float64:
      return reduce<double>(reduction.operation, destination, source, bytes);
    case ElementType::int32:
      return reduce<std::int32_t>(reduction.operation, destination, source, bytes);
    case ElementType::int64:
      return reduce<std::int64_t>(reduction.operation, destination, source, bytes);
  }
}

}  // namespace polypath
