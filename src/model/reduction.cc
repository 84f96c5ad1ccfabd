#include "model/reduction.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "model/half_floats.h"

namespace polypath {
namespace {

// What is computed with: integers without a sign, of at least 32 bits, wrap around; smaller ones
// would become int.
template <class Element>
auto widened(Element value) {
  if constexpr (std::is_same_v<Element, Float16> || std::is_same_v<Element, BFloat16>)
    return static_cast<float>(value);
  else if constexpr (std::is_floating_point_v<Element>) return value;
  else return static_cast<std::uint64_t>(value);
}

template <class Element>
auto ordered(Element value) {
  if constexpr (std::is_arithmetic_v<Element>) return value;
  else return static_cast<float>(value);
}

// Whether the first of two is kept, in whatever order they come: -0 is less than 0, and what is not
// a number is both the least and the largest.
template <class Number>
bool is_kept(Number a, Number b, bool largest) {
  if constexpr (std::is_floating_point_v<Number>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a);
    if (a == b) return std::signbit(a) != largest;
  }
  return largest ? b < a : a < b;
}

template <class Element>
Element sum_of(Element a, Element b) {
  return static_cast<Element>(widened(a) + widened(b));
}

template <class Element>
Element divided(Element sum, int divisor) {
  using Wide = decltype(widened(sum));
  if constexpr (!std::is_floating_point_v<Wide>) return sum;
  else return static_cast<Element>(widened(sum) / static_cast<Wide>(divisor));
}

template <class Element>
Element combined(const Reduction& reduction, Element a, Element b) {
  switch (reduction.operation) {
    case ReduceOperator::sum: return sum_of(a, b);
    case ReduceOperator::average: return divided(sum_of(a, b), reduction.divisor);
    case ReduceOperator::product: return static_cast<Element>(widened(a) * widened(b));
    case ReduceOperator::minimum: return is_kept(ordered(a), ordered(b), false) ? a : b;
    case ReduceOperator::maximum: return is_kept(ordered(a), ordered(b), true) ? a : b;
  }
  return a;
}

// The memory need not be aligned.
template <class Element>
void reduce(const Reduction& reduction, std::byte* destination, const std::byte* source,
            Bytes bytes) {
  for (std::uint64_t offset = 0; offset < bytes.value; offset += sizeof(Element)) {
    Element a, b;
    std::memcpy(&a, destination + offset, sizeof a);
    std::memcpy(&b, source + offset, sizeof b);
    a = combined(reduction, a, b);
    std::memcpy(destination + offset, &a, sizeof a);
  }
}

using Reduce = void (*)(const Reduction& reduction, std::byte* destination, const std::byte* source,
                        Bytes bytes);

Reduce reduce_of(ElementType type) {
  switch (type) {
    case ElementType::float32: return reduce<float>;
    case ElementType::float64: return reduce<double>;
    case ElementType::int32: return reduce<std::int32_t>;
    case ElementType::int64: return reduce<std::int64_t>;
    case ElementType::float16: return reduce<Float16>;
    case ElementType::bfloat16: return reduce<BFloat16>;
    case ElementType::int8: return reduce<std::int8_t>;
    case ElementType::int16: return reduce<std::int16_t>;
    case ElementType::uint8: return reduce<std::uint8_t>;
    case ElementType::uint16: return reduce<std::uint16_t>;
    case ElementType::uint32: return reduce<std::uint32_t>;
    case ElementType::uint64: break;
  }
  return reduce<std::uint64_t>;
}

}  // namespace

void reduce_on_host(const Reduction& reduction, std::byte* destination, const std::byte* source,
                    Bytes bytes) {
  reduce_of(reduction.type)(reduction, destination, source, bytes);
}

}  // namespace polypath
