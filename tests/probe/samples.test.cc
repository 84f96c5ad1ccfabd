#include "probe/samples.h"

#include "support/errors.h"

namespace polypath::test::samples_test {
namespace {

using probe::Sample;
using probe::Sampler;

const Sampler kFiveTimes{{5, 4, 0.05, 0.05, 0.05}};

// A measurement that gives these values one after the other, then the last one again and again.
std::function<double()> giving(std::vector<double> values) {
  return [values = std::move(values), next = std::size_t{0}]() mutable {
    return values[std::min(next++, values.size() - 1)];
  };
}

// Of 10, 10, 11, 12, 100 the median is 11; deviations 1, 1, 0, 1, 89 have the median 1: 1/11.
TEST(Summary, IgnoresWhatIsFarOff) {
  const Sample sample = probe::summary({100, 10, 12, 11, 10});

  EXPECT_EQ(sample.value, 11);
  EXPECT_NEAR(sample.spread, 1.0 / 11, 1e-12);
}

TEST(Summary, OfNothingButZerosHasNoSpread) {
  const Sample sample = probe::summary({0, 0, 0});

  EXPECT_EQ(sample.value, 0);
  EXPECT_EQ(sample.spread, 0);
}

TEST(Sampler, DoesNotCountTheFirst) {
  const Sample sample = kFiveTimes.measure("it", giving({1000, 5}));

  EXPECT_EQ(sample.value, 5);
  EXPECT_EQ(sample.spread, 0);
}

// The first six are 1 to warm up and 5 samples of spread 1/2; the second six agree.
TEST(Sampler, TriesOnceMore) {
  const Sample sample = kFiveTimes.measure("it", giving({1, 1, 2, 3, 4, 5, 7, 7, 7, 7, 7, 7}));

  EXPECT_EQ(sample.value, 7);
}

// Spread 1/3 of 30 ns: less than the 50 ns that are believed.
TEST(Sampler, BelievesWhatDiffersByNanoseconds) {
  const Sampler sampler{{.repeats = 5, .tries = 1, .most_spread = 0.05, .least_spread = 50e-9}};

  const Sample sample = sampler.measure("it", giving({0, 10e-9, 20e-9, 30e-9, 40e-9, 50e-9}));

  EXPECT_DOUBLE_EQ(sample.value, 30e-9);
}

// Four times 1, 2, 3, 4, 5: the median is 3, the deviations 2, 1, 0, 1, 2 have the median 1.
TEST(Sampler, RefusesWhatDiffersEveryTime) {
  expect_error(
      ErrorCode::noisy_machine,
      [] {
        (void)kFiveTimes.measure(
            "copies of 1 MiB from gpu0 -> gpu1",
            giving({0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}));
      },
      "copies of 1 MiB from gpu0 -> gpu1: its repeats differ by 33.3 % at every try",
      "more than 5.0 % is not believed, and nothing was stored");
}

}  // namespace
}  // namespace polypath::test::samples_test
