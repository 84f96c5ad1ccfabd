// The equations of 001, with results worked out by hand; 1 GB/s = 1000 bytes per microsecond.

#include "model/hockney.h"

#include <gtest/gtest.h>

#include <numeric>

#include "model/close.h"
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
  EXPECT_EQ(best_chunk_count(direct(), 1_GiB), 1);
  EXPECT_EQ(linear_chunk_count(direct(), 1_GiB, 0.5), 1);
}

// eq. 14: k = √(b/αβ') = √(160000/(10·1000)) = 4
// eq. 17: T = 2√(bα/β') + b/β + ε + α' = 2·40 + 320 + 6 + 4 = 410 us
TEST(Hockney, BestCountBehindASlowerFirstLeg) {
  const double count = best_chunk_count(first_slower(), 160000_B);

  EXPECT_TRUE(close(count, 4));
  EXPECT_TRUE(close(pipelined_time(first_slower(), 160000_B, count), 410_us));
}

// eq. 15: k = √(b/β(ε + α')) = √(160000/(1000·10)) = 4
// eq. 18: T = 2√(b(ε + α')/β) + b/β' + α = 2·40 + 320 + 3 = 403 us
TEST(Hockney, BestCountBehindASlowerSecondLeg) {
  const double count = best_chunk_count(second_slower(), 160000_B);

  EXPECT_TRUE(close(count, 4));
  EXPECT_TRUE(close(pipelined_time(second_slower(), 160000_B, count), 403_us));
}

TEST(Hockney, NoOtherCountIsBetterThanTheBest) {
  for (const HockneyPath& path : {first_slower(), second_slower()})
    for (const Bytes bytes : {64_KiB, 1_MiB, 64_MiB}) {
      const double best = best_chunk_count(path, bytes);

      for (const double factor : {0.5, 0.9, 1.1, 2.0})
        EXPECT_LT(pipelined_time(path, bytes, best), pipelined_time(path, bytes, best * factor));
    }
}

// √(1000/(10·1000)) = 0.3, but there is at least one chunk.
TEST(Hockney, LittleGoesInOneChunk) {
  EXPECT_EQ(best_chunk_count(first_slower(), 1000_B), 1);
  EXPECT_EQ(linear_chunk_count(first_slower(), 1000_B, 1), 1);
}

// φ·b/αβ' = √(b/αβ') at the reference, where both are 4: φ = 4/16. At four times the bytes the
// linear count is four times as many (eq. 19), the best one only twice (eq. 14).
TEST(Hockney, LinearCountIsTheBestOneAtTheReferenceOnly) {
  for (const HockneyPath& path : {first_slower(), second_slower()}) {
    const double phi = topology_constant(path, 160000_B);

    EXPECT_TRUE(close(phi, 0.25));
    EXPECT_TRUE(close(linear_chunk_count(path, 160000_B, phi), 4));
    EXPECT_TRUE(close(linear_chunk_count(path, 640000_B, phi), 16));
    EXPECT_TRUE(close(best_chunk_count(path, 640000_B), 8));
  }
}

// eq. 22, β < β', φ = 1/4: Ω = 1/β + φ/β' = 2 + 0.25 us/kB, Δ = ε + α' + α/φ = 6 + 4 + 40 us
TEST(Hockney, LinearTimeBehindASlowerFirstLeg) {
  const LinearTime time = linear_time(first_slower(), 0.25);

  EXPECT_TRUE(close(time.slope, 2.25e-9));
  EXPECT_TRUE(close(time.offset, 50_us));
}

// eq. 22, β >= β', φ = 1/4: Ω = φ/β + 1/β' = 0.25 + 2 us/kB, Δ = α + (ε + α')/φ = 3 + 40 us
TEST(Hockney, LinearTimeBehindASlowerSecondLeg) {
  const LinearTime time = linear_time(second_slower(), 0.25);

  EXPECT_TRUE(close(time.slope, 2.25e-9));
  EXPECT_TRUE(close(time.offset, 43_us));
}

// eq. 1 as Ω·b + Δ: Ω = 1/β = 1.25 us/kB, Δ = α = 10 us
TEST(Hockney, LinearTimeOfADirectPathIsItsTime) {
  const LinearTime time = linear_time(direct(), 1);

  EXPECT_TRUE(close(time.slope, 1.25e-9));
  EXPECT_TRUE(close(time.offset, 10_us));
}

// eq. 20 is eq. 13 with k from eq. 19.
TEST(Hockney, LinearTimeIsThePipelineWithTheLinearCount) {
  for (const HockneyPath& path : {first_slower(), second_slower()})
    for (const Bytes bytes : {100000_B, 160000_B, 5000000_B}) {
      const double phi = 0.25;

      const Seconds pipelined = pipelined_time(path, bytes, linear_chunk_count(path, bytes, phi));

      EXPECT_TRUE(close(time_of(linear_time(path, phi), bytes.real()), pipelined));
    }
}

// 001, algorithm 1: the α of paths started earlier is part of Δ.
TEST(Hockney, EarlierPathsDelayLaterOnes) {
  EXPECT_TRUE(close(linear_time(direct(), 1, 5_us).offset, 15_us));
  EXPECT_TRUE(close(linear_time(first_slower(), 0.25, 5_us).offset, 55_us));
  EXPECT_TRUE(close(linear_time(second_slower(), 0.25, 5_us).offset, 48_us));
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
