#include "model/reduction.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/error.h"
#include "model/half_floats.h"

namespace polypath::model {
namespace {

// The type of the computation: integers without a sign, of at least 32 bits, wrap around; smaller
// ones would become int.
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

// Whether the first of two is kept, the same in both orders: -0 is less than 0, and a value
// that is not a number is both the least and the largest.
template <class Number>
bool is_kept(Number a, Number b, bool largest) {
  if constexpr (std::is_floating_point_v<Number>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a);
    if (a == b) return std::signbit(a) != largest;
  }
  return largest ? b < a : a < b;
}

// The step of an average with its two sides: both are multiplied by powers of 2, added, and the sum
// multiplied by one; the last sum is divided. Large values are made smaller before they are added,
// small ones after that, so that neither the sum is infinite nor a subnormal value loses bits
// twice.
template <class Wide>
struct Scales {
  explicit Scales(const Reduction& of)
      : is_last(of.into + of.from >= of.values), divisor(Wide(of.into + of.from)) {
    const int both = halvings_of(of.into + of.from),
              least = halvings_of(std::min(of.into, of.from));
    const auto power = [](int exponent) { return std::ldexp(Wide{1}, exponent); };
    into = power(halvings_of(of.into) - least), from = power(halvings_of(of.from) - least);
    after = power(least - both);
    divisor *= power(-both);
  }

  [[nodiscard]] Wide sum(Wide a, Wide b) const {
    const bool small = std::abs(a) < 1 && std::abs(b) < 1;
    return small ? (a * into + b * from) * after : a * (into * after) + b * (from * after);
  }

  bool is_last;
  Wide into = 1, from = 1, after = 1, divisor;
};

template <class Element, class Wide>
Element averaged(const Scales<Wide>& scales, Element a, Element b) {
  const auto sum = static_cast<Element>(scales.sum(widened(a), widened(b)));
  return scales.is_last ? static_cast<Element>(widened(sum) / scales.divisor) : sum;
}

template <class Element>
Element combined(ReduceOperator operation, Element a, Element b) {
  switch (operation) {
    case ReduceOperator::sum:
    case ReduceOperator::average: return static_cast<Element>(widened(a) + widened(b));
    case ReduceOperator::product: return static_cast<Element>(widened(a) * widened(b));
    case ReduceOperator::minimum: return is_kept(ordered(a), ordered(b), false) ? a : b;
    case ReduceOperator::maximum: return is_kept(ordered(a), ordered(b), true) ? a : b;
  }
  return a;
}

// That of GPUs' arithmetic.
template <class Element>
Element with_known_bits(Element value) {
  if constexpr (std::is_same_v<Element, Float16> || std::is_same_v<Element, BFloat16>) {
    if (std::isnan(static_cast<float>(value))) value.bits = 0x7fff;
  } else if constexpr (std::is_same_v<Element, float>) {
    if (std::isnan(value)) return std::bit_cast<float>(std::uint32_t{0x7fffffff});
  } else if constexpr (std::is_same_v<Element, double>) {
    if (std::isnan(value)) return std::bit_cast<double>(std::uint64_t{0x7fffffffffffffff});
  }
  return value;
}

// The memory need not be aligned.
template <class Element, class Combine>
void for_elements(std::byte* destination, const std::byte* source, Bytes bytes, Combine combine) {
  for (std::uint64_t offset = 0; offset < bytes.value; offset += sizeof(Element)) {
    Element a, b;
    std::memcpy(&a, destination + offset, sizeof a);
    std::memcpy(&b, source + offset, sizeof b);
    a = with_known_bits(combine(a, b));
    std::memcpy(destination + offset, &a, sizeof a);
  }
}

template <class Element>
void reduce(const Reduction& reduction, std::byte* destination, const std::byte* source,
            Bytes bytes) {
  using Wide = decltype(widened(Element()));
  if constexpr (std::is_floating_point_v<Wide>)
    if (reduction.operation == ReduceOperator::average)
      return for_elements<Element>(destination, source, bytes,
                                   [scales = Scales<Wide>(reduction)](Element a, Element b) {
                                     return averaged(scales, a, b);
                                   });
  for_elements<Element>(destination, source, bytes,
                        [&](Element a, Element b) { return combined(reduction.operation, a, b); });
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
    case ElementType::uint64: return reduce<std::uint64_t>;
    default: break;
  }
  fail(ErrorCode::invalid_argument, "these elements cannot be reduced", "their type is only moved",
       "Convert them first.");
}

}  // namespace

void reduce_on_host(const Reduction& reduction, std::byte* destination, const std::byte* source,
                    Bytes bytes) {
  reduce_of(reduction.type)(reduction, destination, source, bytes);
}

}  // namespace polypath::model
