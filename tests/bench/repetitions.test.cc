#include "bench/repetitions.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "bench/repetitions.json.h"

namespace polypath::bench::repetitions_test {
namespace {

using Json = nlohmann::ordered_json;

// h = 1 + q (n - 1) of 10, 20, 40, 80: 1/4 lies at 1.75, so 10 + 0.75 (20 - 10) = 17.5; 1/2 at 2.5,
// so 30; 3/4 at 3.25, so 40 + 0.25 (80 - 40) = 50.
TEST(Repetitions, QuartilesLieOnTheLinesBetweenValues) {
  const Spread spread = spread_of({40, 10, 80, 20});

  EXPECT_DOUBLE_EQ(spread.minimum, 10);
  EXPECT_DOUBLE_EQ(spread.lower, 17.5);
  EXPECT_DOUBLE_EQ(spread.median, 30);
  EXPECT_DOUBLE_EQ(spread.upper, 50);
  EXPECT_DOUBLE_EQ(spread.maximum, 80);
}

TEST(Repetitions, OneValueIsAllItsQuartiles) {
  const Spread spread = spread_of({7});

  EXPECT_DOUBLE_EQ(spread.lower, 7);
  EXPECT_DOUBLE_EQ(spread.median, 7);
  EXPECT_DOUBLE_EQ(spread.upper, 7);
}

TEST(Repetitions, FewValuesAreKeptAsTheyWereMeasured) {
  EXPECT_EQ(kept_of({3, 1, 2}), (std::vector<double>{3, 1, 2}));
}

// 1001 values 0 ... 1000: the percentile p lies at the position 1 + 10 p, which is the value 10 p.
TEST(Repetitions, OfManyValuesThePercentilesAreKept) {
  std::vector<double> values(1001);
  std::iota(values.rbegin(), values.rend(), 0);

  const std::vector<double> kept = kept_of(values);

  ASSERT_EQ(kept.size(), 101U);
  for (int percent = 0; percent <= 100; ++percent)
    EXPECT_NEAR(kept[static_cast<std::size_t>(percent)], 10 * percent, 1e-9);
}

// Runs 1: 6 / 3 = 2, 2: 8 / 2 = 4. The median of the ratios is 3, the ratio of the medians 2.8.
TEST(Repetitions, SpeedupsAreOfTheRunsThatTookTurns) {
  const Repetitions repetitions{.times = {{3}, {2}}, .native_times = {{6}, {8}}};

  Json result;
  add_repetitions(result, repetitions);

  EXPECT_EQ(result["spread"]["speedup"]["median"], 3.0);
  EXPECT_EQ(result["samples"]["runs"], 2);
  EXPECT_EQ(result["samples"]["kept"], "all");
  EXPECT_EQ(result["samples"]["seconds"], Json({3.0, 2.0}));
  EXPECT_EQ(result["samples"]["native_seconds"], Json({6.0, 8.0}));
}

TEST(Repetitions, WithoutNativeRunsThereIsNoSpeedup) {
  Json result;
  add_repetitions(result, {.times = {{3}, {2}}, .native_times = {}});

  EXPECT_EQ(result["spread"]["seconds"]["median"], 2.5);
  EXPECT_FALSE(result["spread"].contains("speedup"));
  EXPECT_FALSE(result["samples"].contains("native_seconds"));
}

TEST(Repetitions, WhatRepeatsExactlyHasNoSpread) {
  Json result = {{"seconds", 1.0}};
  add_repetitions(result, {});

  EXPECT_EQ(result, Json({{"seconds", 1.0}}));
}

TEST(Repetitions, ThereAndBackHalvesEveryRun) {
  Repetitions repetitions{.times = {{3}}, .native_times = {{8}}};

  repetitions.scale(0.5);

  EXPECT_DOUBLE_EQ(repetitions.times[0].value, 1.5);
  EXPECT_DOUBLE_EQ(repetitions.native_times[0].value, 4);
}

}  // namespace
}  // namespace polypath::bench::repetitions_test
