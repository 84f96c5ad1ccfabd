// The equations of 001, with results worked out by hand; 1 GB/s = 1000 bytes per microsecond.

#include "model/hockney.h"

#include <gtest/gtest.h>

#include <numeric>

#include "model/close.h"
#include "model/paper_times.h"
#include "support/random.h"

namespace polypath::test::hockney_test {
namespace {

// Fixed costs of both kinds add up to round figures: α = 10 us where it counts per chunk.
HockneyPath first_slower() { return {{10_us, 0.5_GBps}, Leg{4_us, 1_GBps}, 6_us}; }
HockneyPath second_slower() { return {{3_us, 1_GBps}, Leg{4_us, 0.5_GBps}, 6_us}; }
HockneyPath direct() { return {{10_us, 0.8_GBps}, std::nullopt, {}}; }

LinearTime linear(double microseconds_per_kilobyte, Seconds offset) {
  return {microseconds_per_kilobyte * 1e-9, offset};
}

double sum(const std::vector<double>& shares) {
  return std::accumulate(shares.begin(), shares.end(), 0.0);
}

Seconds time_of(const LinearTime& path, double bytes) {
  return path.offset + Seconds{path.slope * bytes};
}

// eq. 1: T = α + b/β = 10 + 8000/800 = 20 us
TEST(Hockney, OneCopyTakesItsLatencyAndItsBytes) {
  const Seconds time = unpipelined_time(direct(), 8000_B);

  EXPECT_TRUE(close(time, 20_us));
}

// eq. 2: T = α + b/β + ε + α' + b/β' = 10 + 8000/500 + 6 + 4 + 8000/1000 = 44 us
TEST(Hockney, StagingAddsBothLegsAndTheSynchronisation) {
  const Seconds time = unpipelined_time(first_slower(), 8000_B);

  EXPECT_TRUE(close(time, 44_us));
}

// eq. 13, β < β': T = k(α + b/kβ) + ε + α' + b/kβ' = 5(10 + 2000/500) + 6 + 4 + 2000/1000 = 82 us
TEST(Hockney, PipelineBehindASlowerFirstLeg) {
  const Seconds time = pipelined_time(first_slower(), 10000_B, 5);

  EXPECT_TRUE(close(time, 82_us));
}

// eq. 13, β >= β': T = α + b/kβ + k(ε + α' + b/kβ') = 3 + 2000/1000 + 5(6 + 4 + 2000/500) = 75 us
TEST(Hockney, PipelineBehindASlowerSecondLeg) {
  const Seconds time = pipelined_time(second_slower(), 10000_B, 5);

  EXPECT_TRUE(close(time, 75_us));
}

// eq. 13 puts β = β' with the second case: T = 1 + 2 + 2(2 + 3 + 2) = 17 us, not 2(1 + 2) + 7 = 13
TEST(Hockney, EqualLegsCountAsASlowerSecondLeg) {
  const HockneyPath path{{1_us, 1_GBps}, Leg{3_us, 1_GBps}, 2_us};

  const Seconds time = pipelined_time(path, 4000_B, 2);

  EXPECT_TRUE(close(time, 17_us));
}

TEST(Hockney, OneChunkIsNoPipeline) {
  for (const HockneyPath& path : {first_slower(), second_slower(), direct()})
    EXPECT_TRUE(close(pipelined_time(path, 12345_B, 1), unpipelined_time(path, 12345_B)));
}

TEST(Hockney, ADirectPathIsNeverCut) {
  EXPECT_TRUE(close(pipelined_time(direct(), 8000_B, 7), 20_us));
}

// eq. 24 with Δ = 0: θᵢ = (1/Ωᵢ)/Σ(1/Ωⱼ) = 0.8/(0.8 + 0.2)
TEST(Hockney, SharesFollowBandwidth) {
  const std::vector<LinearTime> paths{linear(1.25, {}), linear(5, {})};

  const auto shares = closed_form_shares(paths, 10000_B);

  EXPECT_TRUE(close(shares[0], 0.8));
  EXPECT_TRUE(close(shares[1], 0.2));
}

// eq. 24: θ₁ = ½(1 − 0 + (1/10000)·4·1000) = 0.7, so that both end after 7 us: 7000/1000 = 4 +
// 3000/1000
TEST(Hockney, ALatePathCarriesLess) {
  const std::vector<LinearTime> paths{linear(1, {}), linear(1, 4_us)};

  const auto shares = closed_form_shares(paths, 10000_B);

  EXPECT_TRUE(close(shares[0], 0.7));
  EXPECT_TRUE(close(shares[1], 0.3));
}

// Together: T = (10000 + 20·1000)/2000 = 15 us < Δ₂ = 20 us, so path 2 would carry less than none.
TEST(Hockney, APathThatStartsTooLateCarriesNothing) {
  const std::vector<LinearTime> paths{linear(1, {}), linear(1, 20_us), linear(1, {})};

  const auto shares = closed_form_shares(paths, 10000_B);

  EXPECT_TRUE(close(shares[0], 0.5));
  EXPECT_EQ(shares[1], 0);
  EXPECT_TRUE(close(shares[2], 0.5));
}

// All three: T = (5000 + 26000)/3000 = 10.3 us, only Δ₃ = 20 us is too late. Without it,
// T = (5000 + 6000)/2000 = 5.5 us < Δ₂ = 6 us.
TEST(Hockney, WithoutOnePathAnotherMayBeTooLate) {
  const std::vector<LinearTime> paths{linear(1, {}), linear(1, 6_us), linear(1, 20_us)};

  const auto shares = closed_form_shares(paths, 5000_B);

  EXPECT_EQ(shares, (std::vector<double>{1, 0, 0}));
}

// Theorem 1: the paths that carry something end together; the others would start after that.
TEST(Hockney, CarryingPathsEndTogether) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    std::vector<LinearTime> paths;
    for (int i = random.integer(1, 6); i > 0; --i)
      paths.push_back(linear(0.01 * random.integer(1, 500), 0.1_us * random.integer(0, 2000)));
    const Bytes bytes{random.between(1, 1 << 20)};

    const auto shares = closed_form_shares(paths, bytes);

    EXPECT_TRUE(close(sum(shares), 1));
    Seconds finish;
    for (std::size_t i = 0; i < paths.size(); ++i)
      if (shares[i] > 0) finish = time_of(paths[i], shares[i] * bytes.real());
    for (std::size_t i = 0; i < paths.size(); ++i)
      if (shares[i] > 0)
        EXPECT_TRUE(close(time_of(paths[i], shares[i] * bytes.real()), finish)) << i;
      else EXPECT_GE(paths[i].offset.value, finish.value * (1 - 1e-9)) << i;
  }
}

}  // namespace
}  // namespace polypath::test::hockney_test
