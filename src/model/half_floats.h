#pragma once
// Floating-point numbers of 16 bits, as numbers of the host: to and from float32, to the nearest
// and of two to the even one.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace polypath::model {

/// IEEE 754 binary16: 5 bits of exponent, 10 of fraction.
struct Float16 {
  std::uint16_t bits = 0;

  Float16() = default;
  explicit Float16(float value) : bits(rounded(value)) {}
  explicit operator float() const {
    const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
    const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
    if (exponent == 0x1f) return fraction != 0 ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
    return sign * std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
  }

 private:
  // Below the smallest normal number, 2^-14, steps are all 2^-24.
  static std::uint16_t rounded(float value) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
    const float magnitude = std::fabs(value);
    if (std::isnan(value)) return sign | 0x7e00;
    if (magnitude >= 65520.0F) return sign | 0x7c00;  // rounds to what there is not
    if (magnitude == 0) return sign;
    const int power = std::max(std::ilogb(magnitude), -14);
    const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - power)));
    return static_cast<std::uint16_t>(sign | (((power + 14) << 10) + steps));
  }
};

/// The upper half of a float32.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    const auto whole = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t half = 0x7fff + (whole >> 16 & 1);
    bits = std::isnan(value) ? 0x7fc0 : static_cast<std::uint16_t>((whole + half) >> 16);
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

}  // namespace polypath::model
