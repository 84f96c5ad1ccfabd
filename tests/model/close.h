#pragma once
// Comparing computed figures with hand results: equal but for rounding.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "support/layers.h"

namespace polypath::test {

inline double microseconds(Seconds time) { return time.value * 1e6; }

/// Equal to 1e-9 relative, or `tolerance`.
inline testing::AssertionResult close(double actual, double expected, double tolerance = 1e-9) {
  const double scale = std::max(std::abs(expected), std::abs(actual));
  if (std::abs(actual - expected) <= tolerance * scale) return testing::AssertionSuccess();
  return testing::AssertionFailure() << actual << " instead of " << expected;
}

inline testing::AssertionResult close(Seconds actual, Seconds expected, double tolerance = 1e-9) {
  return close(microseconds(actual), microseconds(expected), tolerance) << " (microseconds)";
}

inline testing::AssertionResult close(BytesPerSecond actual, BytesPerSecond expected,
                                      double tolerance = 1e-9) {
  return close(actual.value, expected.value, tolerance);
}

}  // namespace polypath::test
