#pragma once
// Repeated measurements, and whether they may be trusted.
//
// Of samples x_1 ... x_n the median m counts, and their spread is the median absolute deviation
// over the median: median |x_i - m| / m. Both ignore the few samples that something else disturbed.

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/median.h"
#include "core/units.h"

namespace polypath::probe {

/// How measurements are repeated and which spread is accepted.
struct Trust {
  int repeats = 9;
  int tries = 4;               ///< of a measurement whose samples scatter, or lie on no line
  double most_spread = 0.05;   ///< of the samples of one measurement
  double least_spread = 5e-8;  ///< in seconds: samples that differ by less are accepted all the
                               ///< same
  /// Of what a call costs the thread, some 3 us at most: a processor that is shared or changes its
  /// clock lets that differ, and a chunk takes twenty times as long.
  double most_call_spread = 0.25;
  double most_fit_error = 0.05;  ///< of a line through the times of a hop
  /// Of a line through the costs of graphs of different sizes: the gain of plans hardly depends on
  /// them, and real drivers do not keep to lines.
  double most_graph_fit_error = 0.25;
  /// Of what is left of a single chunk when its copies have been subtracted: some microseconds of
  /// many.
  double most_staging_spread = 0.3;
  int staging_tries = 12;

  /// The same where a spread of `most` is believed.
  [[nodiscard]] Trust believing(double most) const {
    Trust changed = *this;
    changed.most_spread = std::max(most_spread, most);
    return changed;
  }
};

/// A measured value and its spread as a fraction of it.
struct Sample {
  double value = 0;
  double spread = 0;
};

/// The median of five calls: one sample of something short, which a single interrupt would spoil.
double steady(const std::function<double()>& once);
Sample summary(const std::vector<double>& values);

/// Repeats measurements.
class Sampler {
 public:
  explicit Sampler(Trust trust) : trust_(trust) {}

  /// The summary of `once`, called once to warm up and then `repeats` times; all of it again if the
  /// spread is too large. Error (noisy_machine) says that `what` was noisy if it is so every time.
  [[nodiscard]] Sample measure(const std::string& what, const std::function<double()>& once) const;
  /// The same for a measurement that gives all its samples at once.
  [[nodiscard]] Sample measure_all(const std::string& what,
                                   const std::function<std::vector<double>()>& all) const;
  [[nodiscard]] const Trust& trust() const { return trust_; }

 private:
  Trust trust_;
};

/// Throws Error (noisy_machine) about `what`: `problem` in `fraction` of it, where `most` is
/// believed.
[[noreturn]] void fail_noisy(const std::string& what, const std::string& problem, double fraction,
                             double most);

}  // namespace polypath::probe
