#pragma once
// The runs of a measurement one by one, and how far they lie apart.
//
// Of n values x_1 <= ... <= x_n the quantile q lies at the position h = 1 + q (n - 1), between two
// of them on the straight line that joins these: x_k + (h - k) (x_(k+1) - x_k), k the whole part of
// h. So 0 is the least, 1/2 the median (core/median.h), 1 the most.

#include <cstddef>
#include <vector>

#include "core/units.h"

namespace polypath::bench {

/// From more runs on, these many percentiles are kept instead: those of 0 to 100.
inline constexpr std::size_t kMostKept = 256;

/// On real GPUs, where a request does not say how many; the median counts.
inline constexpr int kTimedRounds = 9;

/// Quartiles of times in seconds, or of ratios. Half of the values lie between `lower` and `upper`.
struct Spread {
  double minimum = 0;
  double lower = 0;
  double median = 0;
  double upper = 0;
  double maximum = 0;
};

/// Runs in the order in which they were made. Empty where times repeat exactly, as in a simulation.
struct Repetitions {
  std::vector<Seconds> times;
  /// The native copies, each in turn with the run of the same number; empty where they were not.
  std::vector<Seconds> native_times;

  /// As if each run had taken `factor` as long.
  void scale(double factor);
  /// Native time over time, run by run. The caller sees to it that there are native times.
  [[nodiscard]] std::vector<double> speedups() const;
};

std::vector<double> in_seconds(const std::vector<Seconds>& times);

/// The quantile of values in ascending order; there has to be one.
double quantile(const std::vector<double>& ascending, double fraction);

/// There has to be a value.
Spread spread_of(std::vector<double> values);

/// The values themselves if they are at most kMostKept, else their percentiles.
std::vector<double> kept_of(std::vector<double> values);

}  // namespace polypath::bench
