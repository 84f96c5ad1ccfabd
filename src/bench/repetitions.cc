#include "bench/repetitions.h"

#include <algorithm>
#include <cmath>

namespace polypath::bench {

void Repetitions::scale(double factor) {
  for (std::vector<Seconds>* list : {&times, &native_times})
    for (Seconds& time : *list) time = time * factor;
}

std::vector<double> Repetitions::speedups() const {
  std::vector<double> ratios;
  for (std::size_t run = 0; run < times.size(); ++run)
    ratios.push_back(native_times[run] / times[run]);
  return ratios;
}

std::vector<double> in_seconds(const std::vector<Seconds>& times) {
  std::vector<double> seconds;
  for (const Seconds time : times) seconds.push_back(time.value);
  return seconds;
}

double quantile(const std::vector<double>& ascending, double fraction) {
  const double position = fraction * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, ascending.size() - 1);
  return std::lerp(ascending[below], ascending[above], position - static_cast<double>(below));
}

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {.minimum = values.front(),
          .lower = quantile(values, 0.25),
          .median = quantile(values, 0.5),
          .upper = quantile(values, 0.75),
          .maximum = values.back()};
}

std::vector<double> kept_of(std::vector<double> values) {
  if (values.size() <= kMostKept) return values;
  std::sort(values.begin(), values.end());
  std::vector<double> percentiles;
  for (int percent = 0; percent <= 100; ++percent)
    percentiles.push_back(quantile(values, percent / 100.0));
  return percentiles;
}

}  // namespace polypath::bench
