// The sizes of chunks; 1 GB/s = 1000 bytes per microsecond.

#include "model/chunks.h"

#include <gmock/gmock.h>

#include "model/close.h"
#include "model/pipeline.h"
#include "support/random.h"

namespace polypath::test::chunks_test {
namespace {

using testing::ElementsAre;

constexpr ChunkBounds kAny{512_B, 1_GiB};

HockneyPath path(BytesPerSecond first, BytesPerSecond second) {
  return {{10_us, first}, Leg{10_us, second}, 7_us};
}

HockneyPath equal_legs() { return path(1_GBps, 1_GBps); }
HockneyPath first_slower() { return path(0.5_GBps, 1_GBps); }
HockneyPath second_slower() { return path(1_GBps, 0.5_GBps); }

// --- by hand ---

TEST(Chunks, EqualLegsGetEqualChunks) {
  EXPECT_THAT(chunk_sizes(equal_legs(), 16384_B, 4, 2, kAny),
              ElementsAre(4096_B, 4096_B, 4096_B, 4096_B));
}

// 10240 = 20·512 in three: 7, 7 and 6 times 512.
TEST(Chunks, AreAlignedWhereTheyCannotBeEqual) {
  EXPECT_THAT(chunk_sizes(equal_legs(), 10240_B, 3, 0, kAny), ElementsAre(3584_B, 3584_B, 3072_B));
}

TEST(Chunks, CountIsRounded) {
  EXPECT_EQ(chunk_sizes(equal_legs(), 1_MiB, 7.4, 0, kAny).size(), 7U);
  EXPECT_EQ(chunk_sizes(equal_legs(), 1_MiB, 7.6, 0, kAny).size(), 8U);
}

// Four chunks of 10240 and, at the end that crosses the faster leg alone, two smaller by the ratio
// of the legs, q = 1/2: 5120 and 2560. The four share what these leave, 33280 = 65·512.
TEST(Chunks, TaperAtTheEndBehindASlowerFirstLeg) {
  EXPECT_THAT(chunk_sizes(first_slower(), 40960_B, 4, 2, kAny),
              ElementsAre(8704_B, 8192_B, 8192_B, 8192_B, 5120_B, 2560_B));
}

TEST(Chunks, TaperAtTheBeginningBeforeASlowerSecondLeg) {
  EXPECT_THAT(chunk_sizes(second_slower(), 40960_B, 4, 2, kAny),
              ElementsAre(2560_B, 5120_B, 8704_B, 8192_B, 8192_B, 8192_B));
}

// 2560 would be too small.
TEST(Chunks, TaperStopsAtTheSmallestChunk) {
  const ChunkBounds bounds{4096_B, 1_GiB};

  EXPECT_THAT(chunk_sizes(first_slower(), 40960_B, 4, 2, bounds),
              ElementsAre(9216_B, 9216_B, 8704_B, 8704_B, 5120_B));
}

// Ten chunks of 1100 are 0.95 of that apart: room for one more of 1024 only if the ten fell below.
TEST(Chunks, TaperTakesNothingThatTheOthersNeed) {
  const ChunkBounds bounds{1024_B, 1_GiB};

  const auto sizes = chunk_sizes(path(0.95_GBps, 1_GBps), 11000_B, 10, 1, bounds);

  for (const Bytes size : sizes) EXPECT_GE(size, 1024_B);
}

TEST(Chunks, NoneIsLargerThanASlot) {
  const ChunkBounds bounds{512_B, 8192_B};

  EXPECT_THAT(chunk_sizes(equal_legs(), 40960_B, 1, 0, bounds),
              ElementsAre(8192_B, 8192_B, 8192_B, 8192_B, 8192_B));
}

// 5000 is no multiple of 512, and 5120 would not fit.
TEST(Chunks, NoneIsLargerThanASlotOfAnOddSize) {
  const ChunkBounds bounds{512_B, 5000_B};

  EXPECT_THAT(chunk_sizes(equal_legs(), 10000_B, 1, 0, bounds),
              ElementsAre(3584_B, 3072_B, 3344_B));
}

// The slot decides where no cut meets both bounds.
TEST(Chunks, TheSlotCountsForMoreThanTheSmallest) {
  const ChunkBounds bounds{4096_B, 4096_B};

  EXPECT_THAT(chunk_sizes(equal_legs(), 5120_B, 1, 0, bounds), ElementsAre(2560_B, 2560_B));
}

TEST(Chunks, NoneIsSmallerThanTheSmallest) {
  const ChunkBounds bounds{1024_B, 1_GiB};

  EXPECT_THAT(chunk_sizes(equal_legs(), 4096_B, 100, 0, bounds),
              ElementsAre(1024_B, 1024_B, 1024_B, 1024_B));
}

// 1500 = 512 + 988, not 1024 + 476.
TEST(Chunks, TheLastTakesWhatAlignmentLeaves) {
  EXPECT_THAT(chunk_sizes(equal_legs(), 1500_B, 2, 0, kAny), ElementsAre(512_B, 988_B));
}

TEST(Chunks, LessThanTheSmallestIsOneChunk) {
  const ChunkBounds bounds{1024_B, 1_GiB};

  EXPECT_THAT(chunk_sizes(first_slower(), 700_B, 5, 2, bounds), ElementsAre(700_B));
}

// --- any path ---

HockneyPath random_path(Random& random) {
  return path({1e8 * random.integer(1, 20)}, {1e8 * random.integer(1, 20)});
}

TEST(Chunks, AddUpWithinTheirBoundsAlignedAlways) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const HockneyPath legs = random_path(random);
    const Bytes smallest{random.between(512, 4096)};
    const ChunkBounds bounds{smallest, smallest * random.between(1, 16) + 1_KiB};
    const Bytes bytes{random.between(1, random.chance(50) ? 1 << 13 : 1 << 20)};
    const double count = 0.1 * random.integer(0, 400);

    const auto sizes = chunk_sizes(legs, bytes, count, random.integer(0, 3), bounds);

    Bytes sum;
    for (const Bytes size : sizes) {
      sum += size;
      if (bounds.largest >= bounds.smallest * 2 + 2_KiB)
        EXPECT_GE(size, std::min(bounds.smallest, bytes));
      EXPECT_LE(size, bounds.largest);
    }
    EXPECT_EQ(sum, bytes);
    for (std::size_t j = 0; j + 1 < sizes.size(); ++j) EXPECT_EQ(sizes[j].value % 512, 0U);
  }
}

Seconds time_of(const HockneyPath& legs, const std::vector<Bytes>& sizes) {
  StagedPipeline pipeline(legs.first, *legs.second, legs.staging, {}, 1000);
  Seconds done;
  for (const Bytes size : sizes) done = pipeline.add(size, {}, {});
  return done;
}

// b = 1 MiB in 8: the exposed time on the fast leg falls from 131 us by a factor of 2 per chunk.
TEST(Chunks, TaperShortensTheExposedEnd) {
  for (const HockneyPath& legs : {first_slower(), second_slower()}) {
    const Seconds plain = time_of(legs, chunk_sizes(legs, 1_MiB, 8, 0, kAny));
    const Seconds once = time_of(legs, chunk_sizes(legs, 1_MiB, 8, 1, kAny));
    const Seconds twice = time_of(legs, chunk_sizes(legs, 1_MiB, 8, 2, kAny));

    EXPECT_LT(once + 40_us, plain);
    EXPECT_LT(twice + 10_us, once);
  }
}

// --- how many ---

// k = √(b/αβ') = √(160000/(10·1000)) = 4 with the slower leg's α and the faster one's bandwidth;
// unlike in eq. 15, ε is no part of it.
TEST(ChunkCount, WeighsTheSlowerLegsLatencyAgainstTheFasterLeg) {
  EXPECT_TRUE(close(exact_chunk_count(first_slower(), 160000_B, {}), 4));
  EXPECT_TRUE(close(exact_chunk_count(second_slower(), 160000_B, {}), 4));
  EXPECT_TRUE(close(exact_chunk_count(equal_legs(), 160000_B, {}), 4));
}

// With 40 us of CPU time per chunk: √(160000/(40·1000)) = 2
TEST(ChunkCount, IsBoundByWhatAChunkCostsToIssue) {
  EXPECT_TRUE(close(exact_chunk_count(first_slower(), 160000_B, 40_us), 2));
}

TEST(ChunkCount, IsAtLeastOne) {
  EXPECT_EQ(exact_chunk_count(first_slower(), 1000_B, {}), 1);
  EXPECT_EQ(exact_chunk_count({{10_us, 1_GBps}, std::nullopt, {}}, 1_GiB, {}), 1);
}

TEST(ChunkCount, NoOtherCountIsMuchBetter) {
  for (const HockneyPath& legs : {first_slower(), second_slower(), equal_legs()})
    for (const Bytes bytes : {256_KiB, 4_MiB, 64_MiB}) {
      const double best = exact_chunk_count(legs, bytes, {});
      const Seconds time = time_of(legs, chunk_sizes(legs, bytes, best, 0, kAny));

      for (const double factor : {0.5, 0.8, 1.25, 2.0})
        EXPECT_LT(time, 1.001 * time_of(legs, chunk_sizes(legs, bytes, factor * best, 0, kAny)));
    }
}

}  // namespace
}  // namespace polypath::test::chunks_test
