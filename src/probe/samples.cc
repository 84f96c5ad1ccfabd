#include "probe/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace polypath::probe {

double steady(const std::function<double()>& once) {
  std::vector<double> values;
  for (int i = 0; i < 5; ++i) values.push_back(once());
  return median(std::move(values));
}

Sample summary(const std::vector<double>& values) {
  const double middle = median(values);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - middle));
  const double deviation = median(deviations);
  if (deviation == 0) return {middle, 0};  // a cost of nothing has no spread either
  return {middle, deviation / std::abs(middle)};
}

void fail_noisy(const std::string& what, const std::string& problem, double fraction, double most) {
  fail(ErrorCode::noisy_machine,
       fmt::format("{}: {} {:.1f} % at every try", what, problem, 100 * fraction),
       fmt::format("more than {:.1f} % is not believed, and nothing was stored", 100 * most),
       "Calibrate again when nothing else runs on the machine.");
}

Sample Sampler::measure(const std::string& what, const std::function<double()>& once) const {
  return measure_all(what, [&] {
    (void)once();
    std::vector<double> values;
    for (int i = 0; i < trust_.repeats; ++i) values.push_back(once());
    return values;
  });
}

Sample Sampler::measure_all(const std::string& what,
                            const std::function<std::vector<double>()>& all) const {
  const auto believed = [&](const Sample& sample) {
    return sample.spread <= trust_.most_spread ||
           sample.spread * sample.value <= trust_.least_spread;
  };
  Sample sample = summary(all());
  for (int i = 1; i < trust_.tries && !believed(sample); ++i) sample = summary(all());
  if (!believed(sample))
    fail_noisy(what, "its repeats differ by", sample.spread, trust_.most_spread);
  return sample;
}

}  // namespace polypath::probe
