#pragma once
// Elements on a GPU: the same results as reduce_on_host (model/reduction.h), to the bit.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/reduce_layout.h"

namespace polypath::kernels::gpu {

struct Float16 {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};

// The type of the computation: 16-bit numbers in float32, integers without a sign, so that they
// wrap around. Their bits are made ones of an integer at once: stored byte by byte, the first one
// of a 16-bit number was its value as an integer with the compiler of CUDA 13.0 (F2I.U8.F16 in its
// code).
template <class Element>
struct Arithmetic {
  using Wide = Element;
  static __device__ Wide widen(Element value) { return value; }
  static __device__ Element narrow(Wide value) { return value; }
};

template <>
struct Arithmetic<Float16> {
  using Wide = float;
  static __device__ float widen(Float16 value) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
    return wide;
  }
  static __device__ Float16 narrow(float value) {
    std::uint32_t bits;
    asm("{.reg .b16 narrow; cvt.rn.f16.f32 narrow, %1; cvt.u32.u16 %0, narrow;}"
        : "=r"(bits)
        : "f"(value));
    return {static_cast<std::uint16_t>(bits)};
  }
};

template <>
struct Arithmetic<BFloat16> {
  using Wide = float;
  static __device__ float widen(BFloat16 value) {
    return __uint_as_float(static_cast<std::uint32_t>(value.bits) << 16);
  }
  static __device__ BFloat16 narrow(float value) {
    std::uint32_t bits;
    asm("{.reg .b16 narrow; cvt.rn.bf16.f32 narrow, %1; cvt.u32.u16 %0, narrow;}"
        : "=r"(bits)
        : "f"(value));
    return {static_cast<std::uint16_t>(bits)};
  }
};

struct Sum {
  template <class Wide>
  static __device__ Wide combine(Wide a, Wide b) {
    return static_cast<Wide>(a + b);
  }
};
struct Product {
  template <class Wide>
  static __device__ Wide combine(Wide a, Wide b) {
    return static_cast<Wide>(a * b);
  }
};
struct Average {};
// Whether the first of two is kept, the same in both orders: see model/reduction.h.
template <bool kLargest, class Wide>
__device__ bool is_kept(Wide a, Wide b) {
  if constexpr (std::is_floating_point_v<Wide>) {
    if (a != a || b != b) return a != a;
    if (a == b) return static_cast<bool>(signbit(a)) != kLargest;
  }
  return kLargest ? b < a : a < b;
}
struct Minimum {
  template <class Wide>
  static __device__ Wide combine(Wide a, Wide b) {
    return is_kept<false>(a, b) ? a : b;
  }
};
struct Maximum {
  template <class Wide>
  static __device__ Wide combine(Wide a, Wide b) {
    return is_kept<true>(a, b) ? a : b;
  }
};

// ⌈log₂ p⌉.
__device__ inline int halvings_of(std::uint64_t values) {
  return values <= 1 ? 0 : 64 - __clzll(static_cast<long long>(values - 1));
}

// The step of an average of so many values with its two sides: see model/reduction.cc.
template <class Wide>
struct Scales {
  __device__ explicit Scales(std::uint64_t values) {
    const std::uint64_t of_into = values_into(values), of_from = values_from(values);
    const std::uint64_t sum = of_into + of_from;
    const int both = halvings_of(sum), least = halvings_of(of_into < of_from ? of_into : of_from);
    into = power(halvings_of(of_into) - least), from = power(halvings_of(of_from) - least);
    after = power(least - both);
    divisor = static_cast<Wide>(sum) * power(-both);
    is_last = sum >= all_values(values);
  }

  [[nodiscard]] __device__ Wide sum(Wide a, Wide b) const {
    const bool small = fabs(a) < 1 && fabs(b) < 1;
    return small ? (a * into + b * from) * after : a * (into * after) + b * (from * after);
  }

  static __device__ Wide power(int exponent) {
    if constexpr (sizeof(Wide) == sizeof(float))
      return __uint_as_float(static_cast<std::uint32_t>(127 + exponent) << 23);
    else return __longlong_as_double(static_cast<long long>(1023 + exponent) << 52);
  }

  Wide into, from, after, divisor;
  bool is_last;
};

// A value that is not a number has the bits that arithmetic in float32 makes, and conversions to 16
// bits: all set but the sign.
template <class Wide>
__device__ Wide with_known_bits(Wide value) {
  if constexpr (std::is_same_v<Wide, float>)
    return value == value ? value : __uint_as_float(0x7fffffff);
  else if constexpr (std::is_same_v<Wide, double>)
    return value == value ? value : __longlong_as_double(0x7fffffffffffffff);
  else return value;
}

template <class ElementOf, class Operator>
struct Reducer {
  using Element = ElementOf;
  using Numbers = Arithmetic<Element>;
  __device__ explicit Reducer(std::uint64_t = 0) {}

  __device__ Element combine(Element a, Element b) const {
    constexpr bool kSumOfFloats =
        std::is_same_v<typename Numbers::Wide, float> && std::is_same_v<Operator, Sum>;
    const auto both = Operator::combine(Numbers::widen(a), Numbers::widen(b));
    return Numbers::narrow(kSumOfFloats ? both : with_known_bits(both));
  }
};

template <class ElementOf>
struct Reducer<ElementOf, Average> {
  using Element = ElementOf;
  using Numbers = Arithmetic<Element>;
  __device__ explicit Reducer(std::uint64_t values) : scales(values) {}

  __device__ Element combine(Element a, Element b) const {
    const Element sum =
        Numbers::narrow(with_known_bits(scales.sum(Numbers::widen(a), Numbers::widen(b))));
    if (!scales.is_last) return sum;
    return Numbers::narrow(with_known_bits(Numbers::widen(sum) / scales.divisor));
  }

  Scales<typename Numbers::Wide> scales;
};

// All elements of a word, which has whole ones.
template <class Reducer, class Word>
__device__ Word combine_all(const Reducer& reducer, Word a, Word b) {
  using Element = typename Reducer::Element;
  constexpr int kElements = sizeof(Word) / sizeof(Element);
  Element left[kElements], right[kElements];
  memcpy(left, &a, sizeof a);
  memcpy(right, &b, sizeof b);
#pragma unroll
  for (int i = 0; i < kElements; ++i) left[i] = reducer.combine(left[i], right[i]);
  memcpy(&a, left, sizeof a);
  return a;
}

// The parameters of a reduction in a kernel.
struct ReductionCode {
  std::uint64_t code, values;
};

// The step of a kernel with mailboxes on the sum of the first `added` ranks and the next one.
__device__ inline ReductionCode with_next(std::uint64_t reduction, std::uint64_t added) {
  return {code_of_mail(reduction), values_of_mail(reduction, added)};
}

// Calls function(Reducer<...>) for the operation; sums and products of integers do not ask for a
// sign. There are no averages of integers.
template <class Element, class Unsigned, class Function>
__device__ void with_operator(const ReductionCode& of, Function function) {
  switch (of.code % kReduceOperators) {
    case 0: return function(Reducer<Unsigned, Sum>{of.values});
    case 1: return function(Reducer<Element, Minimum>{of.values});
    case 2: return function(Reducer<Element, Maximum>{of.values});
    case kAverageOperator:
      if constexpr (std::is_floating_point_v<typename Arithmetic<Element>::Wide>)
        return function(Reducer<Element, Average>{of.values});
      else return;
    default: return function(Reducer<Unsigned, Product>{of.values});
  }
}
template <class Element, class Function>
__device__ void with_operator(const ReductionCode& of, Function function) {
  with_operator<Element, Element>(of, function);
}

// The same for a reduction's code. The order is that of ElementType.
template <class Function>
__device__ void with_reducer(const ReductionCode& of, Function function) {
  switch (of.code / kReduceOperators) {
    case 0: return with_operator<float>(of, function);
    case 1: return with_operator<double>(of, function);
    case 2: return with_operator<std::int32_t, std::uint32_t>(of, function);
    case 3: return with_operator<std::int64_t, std::uint64_t>(of, function);
    case 4: return with_operator<Float16>(of, function);
    case 5: return with_operator<BFloat16>(of, function);
    case 6: return with_operator<std::int8_t, std::uint8_t>(of, function);
    case 7: return with_operator<std::int16_t, std::uint16_t>(of, function);
    case 8: return with_operator<std::uint8_t>(of, function);
    case 9: return with_operator<std::uint16_t>(of, function);
    case 10: return with_operator<std::uint32_t>(of, function);
    default: return with_operator<std::uint64_t>(of, function);
  }
}

}  // namespace polypath::kernels::gpu
