#pragma once
// Elements on a GPU: what reduce_on_host (model/reduction.h) does, to the bit but for the bits of
// what is not a number.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/reduce_layout.h"

namespace polypath::gpu {

struct Float16 {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};

// What is computed with: 16-bit numbers in float32, integers without a sign, so that they wrap
// around. Their bits are made ones of an integer at once: stored byte by byte, the first one of a
// 16-bit number was its value as an integer with the compiler of CUDA 13.0 (F2I.U8.F16 in its
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
// The last one of the sums: what it makes is divided then.
struct Average : Sum {};
// Whether the first of two is kept, in whatever order they come: see model/reduction.h.
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

template <class ElementOf, class Operator>
struct Reducer {
  using Element = ElementOf;
  std::uint64_t divisor;  // of an average

  __device__ Element combine(Element a, Element b) const {
    using Numbers = Arithmetic<Element>;
    const Element both = Numbers::narrow(Operator::combine(Numbers::widen(a), Numbers::widen(b)));
    if constexpr (!std::is_same_v<Operator, Average>) return both;
    else
      return Numbers::narrow(Numbers::widen(both) / static_cast<typename Numbers::Wide>(divisor));
  }

  // All elements of a word, which has whole ones.
  template <class Word>
  __device__ Word combine_all(Word a, Word b) const {
    constexpr int kElements = sizeof(Word) / sizeof(Element);
    Element left[kElements], right[kElements];
    memcpy(left, &a, sizeof a);
    memcpy(right, &b, sizeof b);
#pragma unroll
    for (int i = 0; i < kElements; ++i) left[i] = combine(left[i], right[i]);
    memcpy(&a, left, sizeof a);
    return a;
  }
};

// What a kernel is told of a reduction.
struct ReductionCode {
  std::uint64_t code, divisor;
};

// Calls function(Reducer<...>{}) for the operation; sums and products of integers do not ask for a
// sign. There are no averages of integers.
template <class Element, class Unsigned, class Function>
__device__ void with_operator(const ReductionCode& of, Function function) {
  switch (of.code % kReduceOperators) {
    case 0: return function(Reducer<Unsigned, Sum>{});
    case 1: return function(Reducer<Element, Minimum>{});
    case 2: return function(Reducer<Element, Maximum>{});
    case kAverageOperator:
      if constexpr (std::is_floating_point_v<typename Arithmetic<Element>::Wide>)
        return function(Reducer<Element, Average>{of.divisor});
      else return;
    default: return function(Reducer<Unsigned, Product>{});
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

}  // namespace polypath::gpu
