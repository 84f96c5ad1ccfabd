// The exact pipeline, traced by hand; 1 GB/s = 1000 bytes per microsecond.

#include "model/pipeline.h"

#include <gtest/gtest.h>

#include "model/close.h"
#include "model/paper_times.h"
#include "support/layers.h"

namespace polypath::test::pipeline_test {
namespace {

constexpr int kUnlimited = 1000;

// A chunk of 1000 bytes takes 1 + 1 us on the first leg and 1 + 2 us on the second; ε = 2, ε' = 3.
StagedPipeline pipeline(int slots) { return {{1_us, 1_GBps}, {1_us, 0.5_GBps}, 2_us, 3_us, slots}; }

Seconds time_of_equal_chunks(const HockneyPath& path, Bytes chunk, int count) {
  StagedPipeline pipeline(path.first, *path.second, path.staging, {}, kUnlimited);
  Seconds done;
  for (int j = 0; j < count; ++j) done = pipeline.add(chunk, {}, {});
  return done;
}

// One chunk: 2 on the first leg, ε = 2, 3 on the second. That is eq. 2.
TEST(Pipeline, OneChunkCrossesOneLegAfterTheOther) {
  auto staged = pipeline(1);

  EXPECT_TRUE(close(staged.add(1000_B, {}, {}), 7_us));
}

// f = 2, 4, 6; the second leg is never idle: s = 2 + ε + 3 = 7, 10, 13.
TEST(Pipeline, LegsWorkAtTheSameTime) {
  auto staged = pipeline(kUnlimited);

  EXPECT_TRUE(close(staged.add(1000_B, {}, {}), 7_us));
  EXPECT_TRUE(close(staged.add(1000_B, {}, {}), 10_us));
  EXPECT_TRUE(close(staged.add(1000_B, {}, {}), 13_us));
}

// Two slots: f = 2, 4; chunk 2 waits for s₀ + ε' = 7 + 3, so f₂ = 12 and s₂ = max(10, 14) + 3 = 17;
// chunk 3 for s₁ + ε' = 13, so f₃ = max(12, 13) + 2 = 15 and s₃ = max(17, 17) + 3 = 20.
TEST(Pipeline, AChunkWaitsForItsSlot) {
  auto staged = pipeline(2);

  EXPECT_TRUE(close(staged.add(1000_B, {}, {}), 7_us));
  EXPECT_TRUE(close(staged.add(1000_B, {}, {}), 10_us));
  EXPECT_TRUE(close(staged.add(1000_B, {}, {}), 17_us));
  EXPECT_TRUE(close(staged.add(1000_B, {}, {}), 20_us));
}

// One slot: nothing overlaps, each chunk takes 7 after the last one's ε': 7, 17, 27.
TEST(Pipeline, OneSlotIsNoPipeline) {
  auto staged = pipeline(1);

  EXPECT_TRUE(close(staged.add(1000_B, {}, {}), 7_us));
  EXPECT_TRUE(close(staged.add(1000_B, {}, {}), 17_us));
  EXPECT_TRUE(close(staged.add(1000_B, {}, {}), 27_us));
}

// Issued at 5: f = 7, and ready for the second leg at 9; that copy is issued at 20 only: s = 23.
// The next chunk's copies were issued long before: f = 9, s = max(23, 11) + 3 = 26.
TEST(Pipeline, NoCopyStartsBeforeItIsIssued) {
  auto staged = pipeline(kUnlimited);

  EXPECT_TRUE(close(staged.add(1000_B, 5_us, 20_us), 23_us));
  EXPECT_TRUE(close(staged.add(1000_B, 6_us, 6_us), 26_us));
}

// f₀ = 2, s₀ = 7; f₁ = 2 + 1 + 2 = 5, s₁ = max(7, 7) + 1 + 4 = 12; f₂ = 5 + 1 + 0.5 = 6.5,
// s₂ = 12 + 1 + 1 = 14.
TEST(Pipeline, ChunksNeedNotBeEqual) {
  auto staged = pipeline(kUnlimited);

  EXPECT_TRUE(close(staged.add(1000_B, {}, {}), 7_us));
  EXPECT_TRUE(close(staged.add(2000_B, {}, {}), 12_us));
  EXPECT_TRUE(close(staged.add(500_B, {}, {}), 14_us));
}

// First leg slower: a chunk is through the second leg before the next one arrives, and eq. 13 is
// exact: k(α + b/kβ) + ε + α' + b/kβ'.
TEST(Pipeline, BehindASlowerFirstLegIsThePapersPipeline) {
  const HockneyPath path{{10_us, 0.5_GBps}, Leg{4_us, 1_GBps}, 6_us};
  for (const int count : {1, 2, 5, 17})
    for (const Bytes chunk : {512_B, 100000_B}) {
      const Seconds exact = time_of_equal_chunks(path, chunk, count);

      EXPECT_TRUE(close(exact, pipelined_time(path, chunk * static_cast<unsigned>(count), count)))
          << count << " chunks";
    }
}

// Second leg slower: eq. 13 charges ε for each of the k chunks, α + b/kβ + k(ε + α' + b/kβ'). But ε
// delays the first chunk alone; the later ones spend it while the leg is busy. The exact time is
// less by (k − 1)ε.
TEST(Pipeline, BehindASlowerSecondLegThePaperCountsTheSynchronisationTooOften) {
  const HockneyPath path{{3_us, 1_GBps}, Leg{4_us, 0.5_GBps}, 6_us};
  for (const int count : {1, 2, 5, 17}) {
    const Bytes chunk = 100000_B;

    const Seconds exact = time_of_equal_chunks(path, chunk, count);

    const Seconds paper = pipelined_time(path, chunk * static_cast<unsigned>(count), count);
    EXPECT_TRUE(close(exact, paper - path.staging * (count - 1))) << count << " chunks";
  }
}

// More slots never make a pipeline slower, and as many slots as chunks are enough.
TEST(Pipeline, SlotsHelpUntilEveryChunkHasOne) {
  constexpr int kChunks = 6;
  Seconds last = Seconds::infinity();
  for (int slots = 1; slots <= kChunks + 2; ++slots) {
    auto staged = pipeline(slots);
    Seconds done;
    for (int j = 0; j < kChunks; ++j) done = staged.add(1000_B, {}, {});

    EXPECT_LE(done, last) << slots << " slots";
    if (slots > kChunks) EXPECT_EQ(done, last);
    last = done;
  }
}

}  // namespace
}  // namespace polypath::test::pipeline_test
