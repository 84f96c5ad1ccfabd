#include "probe/fit.h"

#include <gtest/gtest.h>

namespace polypath::probe::fit_test {
namespace {

// y = 3 + 2x exactly: nothing is left over.
TEST(FitLine, FindsALineThroughPointsOnOne) {
  const Line line = fit_line({{0, 3}, {1, 5}, {10, 23}});

  EXPECT_NEAR(line.intercept, 3, 1e-12);
  EXPECT_NEAR(line.slope, 2, 1e-12);
  EXPECT_NEAR(largest_residual(line, {{0, 3}, {10, 23}}), 0, 1e-12);
}

// Weights 1/y²: points (1, 1) twice and (1, 2), (0, 1) fix a = 1 (weight 1) and a + b between 1 and
// 2. The minimum over s = a + b of 2·(s - 1)² + (s - 2)²/4 is where 4·(s - 1) + (s - 2)/2 = 0:
// s = 10/9. (0, 1) is met exactly, so b = 1/9.
TEST(FitLine, CountsErrorsInRelationToTheValue) {
  const Line line = fit_line({{0, 1}, {1, 1}, {1, 1}, {1, 2}});

  EXPECT_NEAR(line.intercept, 1, 1e-12);
  EXPECT_NEAR(line.slope, 1.0 / 9, 1e-12);
  EXPECT_NEAR(line.residual({1, 2}), (2 - 10.0 / 9) / 2, 1e-12);
}

// Through (1, 1) and (2, 4) goes y = -2 + 3x. Without intercept b = Σwxy/Σwxx with w = 1, 1/16:
// (1 + 8/16) / (1 + 4/16) = 1.2.
TEST(FitLine, HasNoNegativeIntercept) {
  const Line line = fit_line({{1, 1}, {2, 4}});

  EXPECT_EQ(line.intercept, 0);
  EXPECT_NEAR(line.slope, 1.2, 1e-12);
}

// a + b = 3, a + c = 4, b + c = 5: a = (3 + 4 - 5)/2 = 1, b = 2, c = 3.
TEST(SolveSums, FindsValuesFromATriangle) {
  const std::vector<double> values = solve_sums(3, {{0, 1, 3}, {0, 2, 4}, {1, 2, 5}});

  EXPECT_NEAR(values[0], 1, 1e-6);
  EXPECT_NEAR(values[1], 2, 1e-6);
  EXPECT_NEAR(values[2], 3, 1e-6);
}

TEST(SolveSums, HalvesASumThatStandsAlone) {
  const std::vector<double> values = solve_sums(3, {{0, 2, 8}, {2, 0, 8}});

  EXPECT_NEAR(values[0], 4, 1e-6);
  EXPECT_EQ(values[1], 0);
  EXPECT_NEAR(values[2], 4, 1e-6);
}

TEST(SolveSums, GivesNothingBelowZero) {
  for (const double value : solve_sums(2, {{0, 1, -3}})) EXPECT_EQ(value, 0);
}

// Without the bound a = -3. With a = 0 the least of (b - 2)² + (c - 2)² + (b + c - 10)² is where
// b = c and 2·(b - 2) + 4·(b - 5) = 0: b = 4.
TEST(SolveSums, KeepsTheOthersRightWhereOneIsHeldAtZero) {
  const std::vector<double> values = solve_sums(3, {{0, 1, 2}, {0, 2, 2}, {1, 2, 10}});

  EXPECT_EQ(values[0], 0);
  EXPECT_NEAR(values[1], 4, 1e-6);
  EXPECT_NEAR(values[2], 4, 1e-6);
}

// Two GPUs and a host: the sums of host and GPU are 10, those of a GPU and a relay 25. Nothing
// settles the parts, and the staging latencies (0 to 2) are taken to be alike.
TEST(SolveSums, TakesTheFirstOnesToBeAlikeWhereNothingSettlesThem) {
  const std::vector<double> values =
      solve_sums(5, {{0, 2, 10}, {1, 2, 10}, {3, 1, 25}, {4, 0, 25}}, 3);

  for (const std::size_t staging : {0, 1, 2}) EXPECT_NEAR(values[staging], 5, 1e-2);
  for (const std::size_t relay : {3, 4}) EXPECT_NEAR(values[relay], 20, 1e-2);
}

// a + b was measured as 4 with an error of 1 and as 10 with one of 2: weights 1 and 1/4, so that
// the sum is (4 + 10/4) / (1 + 1/4) = 5.2.
TEST(SolveSums, CountsSumsByTheirErrors) {
  const std::vector<double> values = solve_sums(2, {{0, 1, 4, 1}, {0, 1, 10, 2}});

  EXPECT_NEAR(values[0] + values[1], 5.2, 1e-6);
}

}  // namespace
}  // namespace polypath::probe::fit_test
