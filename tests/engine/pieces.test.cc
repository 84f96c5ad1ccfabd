// Many small copies between two places that are asked for together: they use the links of other
// GPUs, are right to the byte, and keep the order of their stream.

#include <gmock/gmock.h>

#include <thread>

#include "core/error.h"
#include "engine/blocks.h"
#include "engine/call/piece_set.h"
#include "support/layers.h"

namespace polypath::test::pieces_test {
namespace {

using testing::Each;
using testing::Field;

class BlocksOfACache : public BlocksOf,
                       public testing::WithParamInterface<std::pair<const char*, const char*>> {};

INSTANTIATE_TEST_SUITE_P(Between, BlocksOfACache,
                         testing::Values(std::pair{"host", "gpu0"}, std::pair{"gpu0", "host"}),
                         [](const auto& info) { return std::string(info.param.first) + "_first"; });

TEST_P(BlocksOfACache, UseTheLinksOfOtherGpus) {
  add(GetParam().first, GetParam().second, 512, 64 << 10);
  copy();
  const Seconds native = time_of([&] { copy_natively(); });

  const Seconds together = time_of([&] { EXPECT_THAT(copy(), Each(by_paths)); });

  EXPECT_GE(native / together, 1.5);
  EXPECT_EQ(rig_.statistics().transfers, 1024U);
  EXPECT_EQ(rig_.statistics().streams, 1024U);
  EXPECT_GT(rig_.statistics().staged_bytes.value, 0U);
  expect_right();
}

TEST_P(BlocksOfACache, EndWhenTheyArePredictedTo) {
  add(GetParam().first, GetParam().second, 512, 256 << 10);
  const PlanPointer plan = copy().front().plan;

  const Seconds together = time_of([&] { copy(); });

  EXPECT_NEAR(together / plan->predicted, 1, 0.03);
  expect_right();
}

// --- the order of the stream ---

using BlocksOnH200s = BlocksOf;

TEST_F(BlocksOnH200s, StartAfterWhatIsBeforeThemAndEndBeforeWhatComesNext) {
  add("host", "gpu0", 100, 96 << 10);

  copy_between_others(3);

  expect_right();
}

TEST_F(BlocksOnH200s, ThatDependOnEachOtherGoNatively) {
  add("host", "gpu0", 100, 64 << 10);
  Buffer& other = rig_.buffer("host", 64 << 10);
  add(*destination_, 5 * (64 << 10) + 1, other, 0, (64 << 10) - 1);

  EXPECT_THAT(copy(), Each(natively));

  expect_right();
}

TEST_F(BlocksOnH200s, GoNativelyBesideWhatElseIsInFlight) {
  add("host", "gpu0", 100, 64 << 10);
  Buffer& there = rig_.buffer("gpu1", 64 << 20);
  rig_.copy(there, rig_.buffer("host", 64 << 20), rig_.stream("gpu1"));

  EXPECT_THAT(copy(), Each(natively));

  expect_right();
}

TEST_F(BlocksOnH200s, AreNotHeldBackByWhatHasStayedAway) {
  add("host", "gpu0", 512, 64 << 10);
  Buffer& there = rig_.buffer("gpu1", 64 << 20);
  Buffer& here = rig_.buffer("gpu0", 64 << 20);
  Buffer& source = rig_.buffer("host", 64 << 20);
  rig_.copy(there, source, rig_.stream("gpu1"));
  rig_.copy(here, source, rig_.stream("gpu0"));
  rig_.synchronize();
  constexpr int kMoreThanRemembered = 6;

  for (int round = 0; round < kMoreThanRemembered; ++round) (void)time_of([&] { copy(); });

  EXPECT_THAT(copy(), Each(by_paths));
  expect_right();
}

TEST_F(BlocksOnH200s, GoBesideWhatComesBack) {
  add("host", "gpu0", 512, 64 << 10);
  copy();
  Buffer& back = rig_.buffer("host", 64 << 20);
  rig_.copy(back, rig_.buffer("gpu0", 64 << 20), rig_.stream("gpu0"));

  EXPECT_THAT(copy(), Each(by_paths));

  expect_right();
}

// --- thousands of them, which are planned in groups ---

TEST_P(BlocksOfACache, GoOverSeveralPathsHoweverManyTheyAre) {
  add(GetParam().first, GetParam().second, 2 * kPiecesTogether + 1, 64 << 10);
  copy();
  rig_.synchronize();

  copy_between_others(1);

  expect_right();
}

TEST_F(BlocksOnH200s, OfALaterGroupThatDependOnEachOtherGoNatively) {
  constexpr std::size_t kBytes = 64 << 10;
  add("host", "gpu0", kPiecesTogether + 50, kBytes);
  for (int times = 0; times < 2; ++times)
    add(*destination_, 5 * kBytes + 1, rig_.buffer("host", kBytes), 0, kBytes - 1);

  const std::vector<CopyResult> results = copy();

  const std::span first(results.data(), kPiecesTogether);
  EXPECT_THAT(first, Each(by_paths));
  EXPECT_THAT(std::span(results).subspan(first.size()), Each(natively));
  expect_right();
}

TEST_F(BlocksOnH200s, OfALaterGroupWithABadOneAreRefusedAltogether) {
  add("host", "gpu0", kPiecesTogether + 50, 64 << 10);
  calls_.back().bytes = 1024_GiB;
  std::size_t enqueued = 1;

  EXPECT_THROW((void)rig_.engine().copy_many(calls_, &enqueued), Error);

  EXPECT_EQ(enqueued, 0U);
  EXPECT_EQ(rig_.driver().uses(sim::Call::copy), 0);
  EXPECT_THAT(rig_.close(), testing::IsEmpty());
}

// --- which copies go together ---

TEST_F(BlocksOnH200s, OfSeveralSizesGoTogether) {
  Buffer& source = rig_.buffer("host", 64 << 20);
  Buffer& destination = rig_.buffer("gpu0", 64 << 20);
  std::size_t at = 0;
  for (std::size_t number = 0; number < 120; ++number) {
    const std::size_t bytes = number == 60 ? 5 << 20 : 4096 + (number * 7919) % 300000;
    add(destination, at + number, source, at, bytes);
    at += bytes;
  }

  EXPECT_THAT(copy(), Each(by_paths));

  expect_right();
}

TEST_F(BlocksOnH200s, ThatContinueEachOtherAreOneCopy) {
  constexpr std::size_t kBytes = 64 << 10;
  Buffer& source = rig_.buffer("host", 256 * kBytes);
  Buffer& destination = rig_.buffer("gpu0", 256 * kBytes);
  for (std::size_t block = 0; block < 256; ++block)
    add(destination, block * kBytes, source, block * kBytes, kBytes);
  const int before = rig_.driver().uses(sim::Call::copy);

  EXPECT_THAT(copy(), Each(by_paths));

  EXPECT_LE(rig_.driver().uses(sim::Call::copy) - before, 2 * 256 / 32);
  expect_right();
}

// Both ends go on in the numbers of addresses, but not in the same allocation.
TEST_F(BlocksOnH200s, OfNeighbouringAllocationsStayTwoCopies) {
  constexpr std::size_t kBytes = 64 << 10;
  Buffer& destination = rig_.buffer("gpu0", 128 * kBytes);
  for (std::size_t block = 0; block < 128; ++block)
    add(destination, block * kBytes, rig_.buffer("host", kBytes), 0, kBytes);

  EXPECT_THAT(copy(), Each(by_paths));

  expect_right();
}

TEST_F(BlocksOnH200s, LeaveSmallerCopiesToTheDriver) {
  add("host", "gpu0", 100, 64 << 10);
  add(rig_.buffer("gpu0", 100), 0, rig_.buffer("host", 100), 0, 100);
  add(rig_.buffer("gpu0", 100), 0, rig_.buffer("host", 100), 0, 0);

  const std::vector<CopyResult> results = copy();

  EXPECT_EQ(results[0].means, Method::paths);
  EXPECT_EQ(results[100].means, Method::native);
  EXPECT_EQ(results[101].means, Method::nothing);
  EXPECT_EQ(rig_.statistics().native, 1U);
  expect_right();
}

TEST_F(BlocksOnH200s, OfTwoWaysGoNatively) {
  add("host", "gpu0", 100, 64 << 10);
  add("gpu0", "host", 100, 64 << 10);

  EXPECT_THAT(copy(), Each(natively));

  expect_right();
}

TEST_F(BlocksOnH200s, GoNativelyIfThatIsAskedFor) {
  options_.executor = Executor::native;
  add("host", "gpu0", 100, 64 << 10);

  EXPECT_THAT(copy(), Each(natively));

  expect_right();
}

TEST_F(BlocksOnH200s, ThatAreTooSmallTogetherGoNatively) {
  add("host", "gpu0", 100, 16 << 10);

  EXPECT_THAT(copy(), Each(natively));

  expect_right();
}

// Links that carry a whole ring of slots several times over, from places that have to wait.
TEST_F(BlocksOnH200s, FillTheirSlotsAgainAndAgain) {
  add("host", "gpu0", 64, 2 << 20);

  for (int round = 0; round < 3; ++round) EXPECT_THAT(copy(), Each(by_paths));

  expect_right();
}

TEST_F(BlocksOnH200s, WithABadOneAmongThemEnqueueNothing) {
  add("host", "gpu0", 100, 64 << 10);
  calls_[57].bytes = 1_GiB;
  const int before = rig_.driver().uses(sim::Call::copy);

  EXPECT_THROW((void)rig_.engine().copy_many(calls_), Error);

  EXPECT_EQ(rig_.driver().uses(sim::Call::copy), before);
  EXPECT_EQ(rig_.statistics().transfers, 0U);
}

// --- plans made in the background ---

Settings in_background() {
  Settings settings = by_copies();
  settings.prepare = "background";
  settings.prepare_after = 0;
  return settings;
}

class BlocksPlannedInTheBackground : public BlocksOf {
 protected:
  BlocksPlannedInTheBackground() : BlocksOf("h200x4", in_background()) {}
};

TEST_F(BlocksPlannedInTheBackground, GoNativelyUntilThereIsAPlan) {
  add("host", "gpu0", 100, 64 << 10);

  EXPECT_THAT(copy(), Each(Field(&CopyResult::obstacle, FallbackReason::preparing)));
  int rounds = 0;
  for (; rounds < 500 && copy().front().means != Method::paths; ++rounds) {
    rig_.synchronize();
    std::this_thread::sleep_for(std::chrono::milliseconds(rounds));  // the background gets a CPU
  }

  EXPECT_LT(rounds, 500);
  EXPECT_EQ(rig_.statistics().fallbacks, 0U);
  expect_right();
}

}  // namespace
}  // namespace polypath::test::pieces_test
