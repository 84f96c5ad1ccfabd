// min T subject to Σ a_ri·b_i − T <= c_r, Σ b_i <= n, b >= 0, T >= 0.

#include "model/linear_program.h"

#include <gtest/gtest.h>

#include <numeric>
#include <optional>

#include "model/close.h"
#include "support/random.h"

namespace polypath::test::linear_program_test {
namespace {

// The least T that the rows allow with given amounts.
double time_with(const std::vector<DeadlineRow>& rows, const std::vector<double>& amounts) {
  double time = 0;
  for (const DeadlineRow& row : rows)
    time = std::max(time, std::inner_product(amounts.begin(), amounts.end(),
                                             row.coefficients.begin(), -row.constant));
  return time;
}

// --- by hand ---

// Two equal paths, the first of which takes what the other leaves: 1 − b <= T and b <= T meet at
// b = T = 1/2.
TEST(LinearProgram, TwoPathsShareEvenly) {
  const std::vector<DeadlineRow> rows{{{-1}, -1}, {{1}, 0}};

  const auto solution = minimise_deadline(1, rows, 1);

  EXPECT_TRUE(close(solution.time, 0.5));
  EXPECT_TRUE(close(solution.amounts[0], 0.5));
}

// 1 − b₁ − b₂ <= T, 2·b₁ <= T, 4·b₂ <= T: T(1 + 1/2 + 1/4) = 1, so T = 4/7, b₁ = 2/7, b₂ = 1/7.
TEST(LinearProgram, SlowerPathsCarryLess) {
  const std::vector<DeadlineRow> rows{{{-1, -1}, -1}, {{2, 0}, 0}, {{0, 4}, 0}};

  const auto solution = minimise_deadline(2, rows, 1);

  EXPECT_TRUE(close(solution.time, 4.0 / 7));
  EXPECT_TRUE(close(solution.amounts[0], 2.0 / 7));
  EXPECT_TRUE(close(solution.amounts[1], 1.0 / 7));
}

// 5 − b <= T would go on falling, but b ends at the total, 2: T = 3.
TEST(LinearProgram, TheTotalIsALimit) {
  const auto solution = minimise_deadline(1, {{{-1}, -5}}, 2);

  EXPECT_TRUE(close(solution.time, 3));
  EXPECT_TRUE(close(solution.amounts[0], 2));
}

// Two groups of one unit each, of which b₁ and b₂ go over one relay and the rests over links of
// their own: 1 − b₁ <= T, 1/2 − b₂ <= T, b₁ + b₂ <= T. T = 1/2 with b₁ = 1/2, b₂ = 0.
TEST(LinearProgram, GroupsShareARow) {
  const std::vector<DeadlineRow> rows{{{-1, 0}, -1}, {{0, -1}, -0.5}, {{1, 1}, 0}};
  const std::vector<AmountLimit> limits{{.first = 0, .count = 1, .most = 1},
                                        {.first = 1, .count = 1, .most = 0.5}};

  const auto solution = minimise_deadline(2, rows, limits);

  EXPECT_TRUE(close(solution.time, 0.5));
  EXPECT_TRUE(close(solution.amounts[0], 0.5));
  EXPECT_TRUE(close(solution.amounts[1], 0));
}

// Each group ends at its own limit: 3 − b₁ <= T with b₁ <= 1, 5 − b₂ <= T with b₂ <= 4.
TEST(LinearProgram, EachGroupHasItsLimit) {
  const std::vector<DeadlineRow> rows{{{-1, 0}, -3}, {{0, -1}, -5}};
  const std::vector<AmountLimit> limits{{.first = 0, .count = 1, .most = 1},
                                        {.first = 1, .count = 1, .most = 4}};

  const auto solution = minimise_deadline(2, rows, limits);

  EXPECT_TRUE(close(solution.time, 2));
  EXPECT_TRUE(close(solution.amounts[0], 1));
}

// 1 − b₁ − b₂ <= T, b₁ + b₂ <= T: T = 1/2 for all b₁ + b₂ = 1/2. The second objective chooses
// between them: 3·b₁ + b₂ is least for b₁ = 0. With a tenth more time b₂ = 0.45 will do.
TEST(LinearProgram, TheSecondObjectiveChoosesAmongOptima) {
  const std::vector<DeadlineRow> rows{{{-1, -1}, -1}, {{1, 1}, 0}};
  const std::vector<AmountLimit> limits{{.first = 0, .count = 2, .most = 1}};

  const auto exact = minimise_deadline(2, rows, limits, {.weights = {3, 1}});
  const auto loose = minimise_deadline(2, rows, limits, {.weights = {3, 1}, .slack = 0.1});
  const auto other = minimise_deadline(2, rows, limits, {.weights = {1, 3}});

  EXPECT_TRUE(close(exact.time, 0.5));
  EXPECT_TRUE(close(exact.amounts[0], 0));
  EXPECT_TRUE(close(exact.amounts[1], 0.5));
  EXPECT_TRUE(close(loose.time, 0.55));
  EXPECT_TRUE(close(loose.amounts[1], 0.45));
  EXPECT_TRUE(close(other.amounts[0], 0.5));
}

// b <= T + 1 and b >= 0 allow T = 0, and no deadline is negative.
TEST(LinearProgram, NoDeadlineIsBeforeZero) {
  const auto solution = minimise_deadline(1, {{{1}, 1}}, 1);

  EXPECT_EQ(solution.time, 0);
  EXPECT_LE(solution.amounts[0], 1);
}

// 3 <= T whatever the amount.
TEST(LinearProgram, AConstantRowSetsTheDeadline) {
  const auto solution = minimise_deadline(1, {{{0}, -3}, {{-1}, -1}}, 1);

  EXPECT_TRUE(close(solution.time, 3));
}

TEST(LinearProgram, WithoutRowsThereIsNothingToWaitFor) {
  EXPECT_EQ(minimise_deadline(2, {}, 1).time, 0);
}

TEST(LinearProgram, WithoutVariablesTheWorstRowCounts) {
  const auto solution = minimise_deadline(0, {{{}, -2}, {{}, -5}, {{}, 1}}, 1);

  EXPECT_TRUE(close(solution.time, 5));
  EXPECT_TRUE(solution.amounts.empty());
}

// Many rows say the same, so that pivots without progress are possible: 1 − b₁ − b₂ <= T and
// b₁, b₂ <= T, thrice, meet at 1/3.
TEST(LinearProgram, RepeatedRowsChangeNothing) {
  std::vector<DeadlineRow> rows;
  for (int i = 0; i < 3; ++i) rows.insert(rows.end(), {{{-1, -1}, -1}, {{1, 0}, 0}, {{0, 1}, 0}});

  const auto solution = minimise_deadline(2, rows, 1);

  EXPECT_TRUE(close(solution.time, 1.0 / 3));
}

// --- any program ---

// A linear system a·x = b of full rank solved by elimination; nothing if it has none.
std::optional<std::vector<double>> solve(std::vector<std::vector<double>> a,
                                         std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t best = column;
    for (std::size_t r = column; r < n; ++r)
      if (std::abs(a[r][column]) > std::abs(a[best][column])) best = r;
    if (std::abs(a[best][column]) < 1e-9) return std::nullopt;
    std::swap(a[column], a[best]), std::swap(b[column], b[best]);
    for (std::size_t r = 0; r < n; ++r) {
      const double factor = r == column ? 0 : a[r][column] / a[column][column];
      for (std::size_t c = 0; c < n; ++c) a[r][c] -= factor * a[column][c];
      b[r] -= factor * b[column];
    }
  }
  for (std::size_t r = 0; r < n; ++r) b[r] /= a[r][r];
  return b;
}

// Every constraint of the program as Σ cells·(b, T) <= bound.
struct HalfSpaces {
  std::vector<std::vector<double>> cells;
  std::vector<double> bounds;

  void add(std::vector<double> row, double bound) {
    cells.push_back(std::move(row)), bounds.push_back(bound);
  }
  [[nodiscard]] bool contain(const std::vector<double>& point) const {
    for (std::size_t r = 0; r < cells.size(); ++r)
      if (std::inner_product(point.begin(), point.end(), cells[r].begin(), 0.0) > bounds[r] + 1e-9)
        return false;
    return true;
  }
};

HalfSpaces constraints(std::size_t variables, const std::vector<DeadlineRow>& rows, double total) {
  HalfSpaces all;
  for (const DeadlineRow& row : rows) {
    auto cells = row.coefficients;
    cells.push_back(-1);
    all.add(cells, row.constant);
  }
  std::vector<double> sum(variables, 1);
  sum.push_back(0);
  all.add(sum, total);
  for (std::size_t i = 0; i <= variables; ++i) {
    std::vector<double> negative(variables + 1, 0);
    negative[i] = -1;
    all.add(negative, 0);
  }
  return all;
}

// The least T of all vertices: every choice of as many tight constraints as there are variables.
double least_time_of_vertices(const HalfSpaces& all, std::size_t dimensions) {
  double least = std::numeric_limits<double>::infinity();
  std::vector<bool> tight(all.cells.size(), false);
  std::fill_n(tight.begin(), dimensions, true);
  do {
    std::vector<std::vector<double>> a;
    std::vector<double> b;
    for (std::size_t r = 0; r < tight.size(); ++r)
      if (tight[r]) a.push_back(all.cells[r]), b.push_back(all.bounds[r]);
    const auto vertex = solve(a, b);
    if (vertex && all.contain(*vertex)) least = std::min(least, vertex->back());
  } while (std::prev_permutation(tight.begin(), tight.end()));
  return least;
}

void expect_optimal(std::size_t variables, const std::vector<DeadlineRow>& rows, double total) {
  const double least = least_time_of_vertices(constraints(variables, rows, total), variables + 1);

  const auto solution = minimise_deadline(variables, rows, total);

  EXPECT_NEAR(solution.time, least, 1e-9);
  EXPECT_NEAR(time_with(rows, solution.amounts), solution.time, 1e-9);
  EXPECT_LE(std::accumulate(solution.amounts.begin(), solution.amounts.end(), 0.0), total + 1e-9);
  for (const double amount : solution.amounts) EXPECT_GE(amount, -1e-9);
}

TEST(LinearProgram, FindsTheBestVertexOfAnyProgram) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const auto variables = static_cast<std::size_t>(random.integer(1, 3));
    std::vector<DeadlineRow> rows(random.between(1, 6));
    for (DeadlineRow& row : rows) {
      row.constant = 0.01 * random.integer(-300, 100);
      for (std::size_t i = 0; i < variables; ++i)
        row.coefficients.push_back(0.01 * random.integer(-300, 300));
    }

    expect_optimal(variables, rows, 0.1 * random.integer(1, 20));
  }
}

// Small whole numbers: many constraints meet in one vertex.
TEST(LinearProgram, FindsTheBestVertexOfAnyDegenerateProgram) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const auto variables = static_cast<std::size_t>(random.integer(1, 3));
    std::vector<DeadlineRow> rows(random.between(1, 7));
    for (DeadlineRow& row : rows) {
      row.constant = random.integer(-1, 0);
      for (std::size_t i = 0; i < variables; ++i) row.coefficients.push_back(random.integer(-1, 1));
    }

    expect_optimal(variables, rows, 1);
  }
}

}  // namespace
}  // namespace polypath::test::linear_program_test
