// Shares of paths that contend. 1 GB/s: 1 us per kB; messages of a megabyte: 1 ms at that rate.

#include "model/share_problem.h"

#include <gtest/gtest.h>

#include <numeric>

#include "model/close.h"
#include "support/random.h"

namespace polypath::test::share_problem_test {
namespace {

constexpr ResourceId kEgress{0};
constexpr ResourceId kMemory{1};
const std::vector<Capacity> kOneEach{1_GBps, 1_GBps};

SharedPath path(BytesPerSecond rate, Seconds offset, std::vector<Use> claims = {}) {
  return {{1 / rate.value, offset}, std::move(claims)};
}

// When the last of the carrying paths ends and the fullest resource is done.
double time_of(const std::vector<SharedPath>& paths, const std::vector<Capacity>& available,
               const std::vector<double>& shares, double total) {
  double time = 0;
  std::vector<double> busy(available.size(), 0), from(available.size(), 1e9);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (shares[i] <= 0) continue;
    const double offset = paths[i].time.offset.value;
    time = std::max(time, offset + paths[i].time.slope * shares[i] * total);
    for (const Use& claim : paths[i].claims) {
      const std::size_t r = claim.resource.index();
      busy[r] += claim.weight * shares[i] * total / available[r].value;
      from[r] = std::min(from[r], offset);
    }
  }
  for (std::size_t r = 0; r < busy.size(); ++r)
    if (busy[r] > 0) time = std::max(time, from[r] + busy[r]);
  return time;
}

// --- without contention ---

// eq. 24: θ₁ = ½(1 + 400/1000) = 0.7; both end after 700 us.
TEST(ShareProblem, WithoutContentionPathsEndTogether) {
  const std::vector<SharedPath> paths{path(1_GBps, {}), path(1_GBps, 400_us)};

  const auto solution = solve_shares(paths, kOneEach, 1000000_B, 1_B);

  EXPECT_TRUE(close(solution.shares[0], 0.7));
  EXPECT_TRUE(close(solution.shares[1], 0.3));
  EXPECT_TRUE(close(solution.time, 700_us));
}

// Path 2 would start after everything is over. Its Δ must not hold up the others.
TEST(ShareProblem, APathThatStartsTooLateDoesNotMatterToTheOthers) {
  const std::vector<SharedPath> paths{path(1_GBps, {}), path(1_GBps, {}), path(1_GBps, 5000_us)};

  const auto solution = solve_shares(paths, kOneEach, 1000000_B, 1_B);

  EXPECT_TRUE(close(solution.shares[0], 0.5));
  EXPECT_TRUE(close(solution.shares[1], 0.5));
  EXPECT_EQ(solution.shares[2], 0);
  EXPECT_TRUE(close(solution.time, 500_us));
}

TEST(ShareProblem, ALonePathCarriesEverything) {
  const auto solution = solve_shares(std::vector{path(0.5_GBps, 10_us)}, kOneEach, 1000000_B, 1_B);

  ASSERT_EQ(solution.shares.size(), 1U);
  EXPECT_TRUE(close(solution.shares[0], 1));
  EXPECT_TRUE(close(solution.time, 2010_us));
}

TEST(ShareProblem, WithoutContentionIsTheClosedForm) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    std::vector<SharedPath> paths;
    std::vector<LinearTime> times;
    for (int i = random.integer(1, 6); i > 0; --i) {
      const Seconds offset = times.empty() ? 0_us : 1_us * random.integer(0, 800);
      paths.push_back(path({1e7 * random.integer(1, 200)}, offset));
      times.push_back(paths.back().time);
    }

    const auto solution = solve_shares(paths, kOneEach, 1000000_B, 1_B);

    const auto expected = closed_form_shares(times, 1000000_B);
    for (std::size_t i = 0; i < paths.size(); ++i)
      if (expected[i] >= 1e-6 || expected[i] == 0)
        EXPECT_TRUE(close(solution.shares[i], expected[i])) << i;
  }
}

// --- with contention ---

// The direct path fills the egress port of its GPU; a copy through another GPU leaves by the same
// port, so nothing is gained by it.
TEST(ShareProblem, NothingIsStagedBehindAFullPort) {
  const std::vector<SharedPath> paths{path(1_GBps, {}, {{kEgress, 1}}),
                                      path(1_GBps, 20_us, {{kEgress, 1}})};

  const auto solution = solve_shares(paths, kOneEach, 1000000_B, 1_B);

  EXPECT_TRUE(close(solution.shares[0], 1));
  EXPECT_EQ(solution.shares[1], 0);
  EXPECT_TRUE(close(solution.time, 1000_us));
}

// The host path avoids the port: (1000000 + 100·250)/1250 = 820 us, of which it flows 720 at 0.25.
TEST(ShareProblem, ThePathThatAvoidsAFullPortCarriesItsShare) {
  const std::vector<SharedPath> paths{path(1_GBps, {}, {{kEgress, 1}}),
                                      path(1_GBps, 20_us, {{kEgress, 1}}),
                                      path(0.25_GBps, 100_us, {{kMemory, 2}})};

  const auto solution = solve_shares(paths, kOneEach, 1000000_B, 1_B);

  EXPECT_TRUE(close(solution.shares[0], 0.82));
  EXPECT_EQ(solution.shares[1], 0);
  EXPECT_TRUE(close(solution.shares[2], 0.18));
  EXPECT_TRUE(close(solution.time, 820_us));
}

// The port takes 1000 us whatever the split, and any from 0.3:0.7 to 0.8:0.2 meets that: fair
// sharing gives both 0.5.
TEST(ShareProblem, OfEquallyGoodSplitsTheFairOneIsTaken) {
  const std::vector<SharedPath> paths{path(0.8_GBps, {}, {{kEgress, 1}}),
                                      path(0.7_GBps, {}, {{kEgress, 1}})};

  const auto solution = solve_shares(paths, kOneEach, 1000000_B, 1_B);

  EXPECT_TRUE(close(solution.shares[0], 0.5));
  EXPECT_TRUE(close(solution.shares[1], 0.5));
  EXPECT_TRUE(close(solution.time, 1000_us));
}

// Fair sharing would give each 0.5 of the memory, of which path 1 takes two bytes for one: with
// rates 1/3 each T = 1.5 ms; all over path 0: 1 ms.
TEST(ShareProblem, FairnessIsNoReasonToTakeLonger) {
  const std::vector<SharedPath> paths{path(1_GBps, {}, {{kMemory, 1}}),
                                      path(1_GBps, {}, {{kMemory, 2}})};

  const auto solution = solve_shares(paths, kOneEach, 1000000_B, 1_B);

  EXPECT_TRUE(close(solution.shares[0], 1));
  EXPECT_EQ(solution.shares[1], 0);
  EXPECT_TRUE(close(solution.time, 1000_us));
}

// Of the memory 0.25 is left, of which path 1 takes two bytes for one: 0.125 beside the direct 1.
TEST(ShareProblem, OnlyWhatIsAvailableIsUsed) {
  const std::vector<SharedPath> paths{path(1_GBps, {}), path(1_GBps, {}, {{kMemory, 2}})};

  const auto solution =
      solve_shares(paths, std::vector<Capacity>{1_GBps, 0.25_GBps}, 1000000_B, 1_B);

  EXPECT_TRUE(close(solution.shares[0], 1 / 1.125));
  EXPECT_TRUE(close(solution.shares[1], 0.125 / 1.125));
}

// The fair amount, 1/11 of a megabyte, is less than what is worth a path.
TEST(ShareProblem, TooLittleIsNotWorthAPath) {
  const std::vector<SharedPath> paths{path(1_GBps, {}), path(0.1_GBps, {})};

  EXPECT_GT(solve_shares(paths, kOneEach, 1000000_B, 90000_B).shares[1], 0);
  EXPECT_EQ(solve_shares(paths, kOneEach, 1000000_B, 100000_B).shares[1], 0);
}

// --- any problem ---

// No split of a fine grid is better, but for the 0.2 % that fairness may cost. Paths that share
// something start together, so that it does not matter which of them a resource waits for.
TEST(ShareProblem, NoOtherSplitIsBetter) {
  constexpr double kTotal = 1e6;
  constexpr int kSteps = 60;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    std::vector<SharedPath> paths;
    for (int i = 0; i < 3; ++i) {
      std::vector<Use> claims;
      for (const ResourceId id : {kEgress, kMemory})
        if (random.chance(50)) claims.push_back({id, 0.5 * random.integer(1, 4)});
      const Seconds offset = claims.empty() && i > 0 ? 1_us * random.integer(0, 800) : 0_us;
      paths.push_back(path({1e8 * random.integer(1, 20)}, offset, claims));
    }
    const std::vector<Capacity> available{BytesPerSecond{1e8 * random.integer(2, 20)},
                                          BytesPerSecond{1e8 * random.integer(2, 20)}};
    double best = 1e9;
    for (int i = 0; i <= kSteps; ++i)
      for (int j = 0; i + j < kSteps; ++j)
        best = std::min(
            best,
            time_of(paths, available,
                    {1 - double(i + j) / kSteps, double(i) / kSteps, double(j) / kSteps}, kTotal));

    const auto solution = solve_shares(paths, available, 1000000_B, 1_B);

    EXPECT_TRUE(close(std::accumulate(solution.shares.begin(), solution.shares.end(), 0.0), 1));
    EXPECT_TRUE(
        close(time_of(paths, available, solution.shares, kTotal), solution.time.value, 2.1e-3));
    EXPECT_LE(solution.time.value, best * 1.0021);
  }
}

}  // namespace
}  // namespace polypath::test::share_problem_test
