#pragma once
// Quantities with units. The value of each is in SI base units (bytes, seconds, bytes per second);
// only the products and quotients that mean something physically are defined.

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>

#include "core/layers.h"

namespace polypath {

/// An amount of memory, in bytes.
struct Bytes {
  std::uint64_t value = 0;

  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) { return value += other.value, *this; }
  constexpr Bytes& operator-=(Bytes other) { return value -= other.value, *this; }
  /// The value as a real number, for arithmetic with rates.
  [[nodiscard]] constexpr double real() const { return static_cast<double>(value); }
};

constexpr Bytes operator+(Bytes a, Bytes b) { return {a.value + b.value}; }
constexpr Bytes operator-(Bytes a, Bytes b) { return {a.value - b.value}; }
constexpr Bytes operator*(Bytes a, std::uint64_t n) { return {a.value * n}; }
constexpr Bytes operator""_B(unsigned long long n) { return {n}; }
constexpr Bytes operator""_KiB(unsigned long long n) { return {n << 10}; }
constexpr Bytes operator""_MiB(unsigned long long n) { return {n << 20}; }
constexpr Bytes operator""_GiB(unsigned long long n) { return {n << 30}; }

/// A duration, or a point on a clock whose origin is said where it is used, in seconds.
struct Seconds {
  double value = 0;

  constexpr auto operator<=>(const Seconds&) const = default;
  constexpr Seconds& operator+=(Seconds other) { return value += other.value, *this; }
  constexpr Seconds& operator-=(Seconds other) { return value -= other.value, *this; }
  static constexpr Seconds infinity() { return {std::numeric_limits<double>::infinity()}; }
};

constexpr Seconds operator+(Seconds a, Seconds b) { return {a.value + b.value}; }
constexpr Seconds operator-(Seconds a, Seconds b) { return {a.value - b.value}; }
constexpr Seconds operator*(Seconds a, double n) { return {a.value * n}; }
constexpr Seconds operator*(double n, Seconds a) { return {a.value * n}; }
constexpr double operator/(Seconds a, Seconds b) { return a.value / b.value; }
constexpr Seconds operator""_us(long double n) { return {static_cast<double>(n) * 1e-6}; }
constexpr Seconds operator""_us(unsigned long long n) { return {static_cast<double>(n) * 1e-6}; }

/// A bandwidth or a capacity, in bytes per second.
struct BytesPerSecond {
  double value = 0;

  constexpr auto operator<=>(const BytesPerSecond&) const = default;
  static constexpr BytesPerSecond infinity() { return {std::numeric_limits<double>::infinity()}; }
};

constexpr BytesPerSecond operator""_GBps(long double n) { return {static_cast<double>(n) * 1e9}; }
constexpr BytesPerSecond operator""_GBps(unsigned long long n) {
  return {static_cast<double>(n) * 1e9};
}
/// The most that copies may claim of a resource: of a link or a memory bytes per second, of an
/// engine the copies that it works on at once. After a rest some resources take more for a while:
/// by time t they have had at most min(burst·t, credit + value·t).
struct Capacity {
  double value = 0;
  double burst = 0;   ///< bytes per second while there is credit
  double credit = 0;  ///< bytes; 0: there is no burst

  constexpr Capacity() = default;
  constexpr Capacity(BytesPerSecond rate) : value(rate.value) {}
  static constexpr Capacity copies(int at_once) {
    Capacity capacity;
    capacity.value = at_once;
    return capacity;
  }
  constexpr auto operator<=>(const Capacity&) const = default;
  /// The most of it at a time.
  [[nodiscard]] constexpr double peak() const { return credit > 0 ? burst : value; }
  /// How long it takes at least for so much of it, from a rest on, in seconds.
  [[nodiscard]] constexpr double time_of(double amount) const {
    if (credit <= 0) return amount / value;
    return std::max(amount / burst, (amount - credit) / value);
  }
};

constexpr Seconds operator/(Bytes amount, BytesPerSecond rate) {
  return {amount.real() / rate.value};
}
constexpr BytesPerSecond operator/(Bytes amount, Seconds time) {
  return {amount.real() / time.value};
}

}  // namespace polypath
