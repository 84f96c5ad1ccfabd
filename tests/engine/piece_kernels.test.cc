// Many small copies that are asked for together and go by kernels: one launch per GPU instead of
// hundreds of copies, right to the byte, in the order of their stream, and by copies where kernels
// cannot be used.

#include <thread>

#include "engine/blocks.h"
#include "support/layers.h"

namespace polypath::test::piece_kernels_test {
namespace {

using testing::Each;
using testing::IsEmpty;

class BlocksByKernels : public BlocksOf {
 protected:
  explicit BlocksByKernels(const Settings& settings = {}, const std::string& machine = "h200x4")
      : BlocksOf(machine, settings) {}

  int launches() { return rig_.driver().uses(sim::Call::run_kernel); }
  int copies() { return rig_.driver().uses(sim::Call::copy); }
};

class CacheByKernels : public BlocksByKernels,
                       public testing::WithParamInterface<std::pair<const char*, const char*>> {};

INSTANTIATE_TEST_SUITE_P(Between, CacheByKernels,
                         testing::Values(std::pair{"host", "gpu0"}, std::pair{"gpu0", "host"},
                                         std::pair{"gpu1", "gpu0"}, std::pair{"host", "gpu2"}),
                         [](const auto& info) {
                           return std::string(info.param.first) + "_" + info.param.second;
                         });

TEST_P(CacheByKernels, TakesALaunchOfEachGpu) {
  add(GetParam().first, GetParam().second, 512, 64 << 10);
  copy();
  const Seconds native = time_of([&] { copy_natively(); });
  const int launched = launches(), copied = copies();

  const Seconds together = time_of([&] { EXPECT_THAT(copy(), Each(by_paths)); });

  EXPECT_GE(native / together, 4);
  EXPECT_LE(launches() - launched, 4);
  EXPECT_EQ(copies(), copied);
  expect_right();
}

TEST_P(CacheByKernels, EndsWhenItIsPredictedTo) {
  add(GetParam().first, GetParam().second, 256, 64 << 10);
  const PlanPointer plan = copy().front().plan;

  const Seconds together = time_of([&] { copy(); });

  EXPECT_NEAR(together / plan->predicted, 1, 0.03);
  expect_right();
}

TEST_F(BlocksByKernels, AreWorthItWhereCopiesAreTooSmallToBePlanned) {
  add("host", "gpu0", 100, 16 << 10);
  copy();
  const Seconds native = time_of([&] { copy_natively(); });

  const Seconds together = time_of([&] { EXPECT_THAT(copy(), Each(by_paths)); });

  EXPECT_GE(native / together, 4);
  expect_right();
}

TEST_F(BlocksByKernels, AreInTheOrderOfTheirStream) {
  add("host", "gpu0", 100, 48 << 10);

  copy_between_others(3);

  expect_right();
}

TEST_F(BlocksByKernels, OfAllSizesGoTogether) {
  Buffer& source = rig_.buffer("host", 64 << 20);
  Buffer& destination = rig_.buffer("gpu0", 64 << 20);
  std::size_t at = 0;
  for (std::size_t number = 0; number < 1500; ++number) {
    const std::size_t bytes = number == 60 ? 5 << 20 : 4096 + (number * 7919) % 30000;
    add(destination, at + number, source, at, bytes);
    at += bytes + number % 2;
  }

  EXPECT_THAT(copy(), Each(by_paths));

  expect_right();
}

TEST_F(BlocksByKernels, GoWithThoseOfAnotherGpusStream) {
  stream_ = rig_.stream("gpu3");
  add("host", "gpu0", 200, 64 << 10);

  EXPECT_THAT(copy(), Each(by_paths));

  EXPECT_GT(launches(), 0);
  expect_right();
}

// More memories than it pays to ask about.
TEST_F(BlocksByKernels, OfManyAllocationsGoByCopies) {
  Buffer& destination = rig_.buffer("gpu0", 64 * (64 << 10));
  for (std::size_t block = 0; block < 64; ++block)
    add(destination, block * (64 << 10), rig_.buffer("host", 64 << 10), 0, 64 << 10);

  EXPECT_THAT(copy(), Each(by_paths));

  EXPECT_EQ(launches(), 0);
  expect_right();
}

TEST_F(BlocksByKernels, OfAnEngineThatGoesAreCopiedAllTheSame) {
  add("host", "gpu0", 512, 64 << 10);

  EXPECT_THAT(copy(), Each(by_paths));

  rig_.destroy_engines();
  EXPECT_TRUE(rig_.intact());
  EXPECT_THAT(rig_.close(), IsEmpty());
}

// GPUs that do not reach each other carry only what is theirs.
class BlocksWithoutPeers : public BlocksByKernels {
 protected:
  BlocksWithoutPeers() : BlocksByKernels({}, "nop2p4") {}
};

TEST_F(BlocksWithoutPeers, GoByTheKernelsOfTheirOwnGpu) {
  add("host", "gpu0", 512, 16 << 10);

  EXPECT_THAT(copy(), Each(by_paths));

  EXPECT_EQ(launches(), 1);
  expect_right();
}

class BlocksWithoutKernels : public BlocksByKernels {
 protected:
  BlocksWithoutKernels() : BlocksByKernels(by_copies()) {}
};

TEST_F(BlocksWithoutKernels, GoByCopies) {
  add("host", "gpu0", 512, 64 << 10);

  EXPECT_THAT(copy(), Each(by_paths));

  EXPECT_EQ(launches(), 0);
  expect_right();
}

// --- failures ---

TEST_F(BlocksByKernels, ThatCannotBeLoadedAreCopiesFromThenOn) {
  add("host", "gpu0", 512, 64 << 10);
  rig_.driver().fail_nth(sim::Call::load_kernel, 2);

  EXPECT_THAT(copy(), Each(natively));
  EXPECT_THAT(copy(), Each(by_paths));

  EXPECT_EQ(launches(), 0);
  expect_right();
}

TEST_F(BlocksByKernels, ThatCannotBeLaunchedAreCopiedNatively) {
  add("host", "gpu0", 512, 64 << 10);
  copy();
  rig_.driver().fail_nth(sim::Call::run_kernel, 2);

  EXPECT_THAT(copy(), Each(natively));
  EXPECT_THAT(copy(), Each(by_paths));

  expect_right();
}

// --- loaded in the background ---

class BlocksByKernelsOfTheBackground : public BlocksByKernels {
 protected:
  BlocksByKernelsOfTheBackground() : BlocksByKernels(in_background()) {}
  static Settings in_background() {
    Settings settings;
    settings.prepare = "background";
    settings.prepare_after = 0;
    return settings;
  }
};

TEST_F(BlocksByKernelsOfTheBackground, GoNativelyUntilThereAreKernels) {
  add("host", "gpu0", 100, 64 << 10);

  EXPECT_THAT(copy(), Each(testing::Field(&CopyResult::obstacle, FallbackReason::preparing)));
  int rounds = 0;
  for (; rounds < 500 && copy().front().means != Method::paths; ++rounds) {
    rig_.synchronize();
    std::this_thread::sleep_for(std::chrono::milliseconds(rounds));  // the background gets a CPU
  }

  EXPECT_LT(rounds, 500);
  EXPECT_GT(launches(), 0);
  EXPECT_EQ(rig_.statistics().fallbacks, 0U);
  expect_right();
}

}  // namespace
}  // namespace polypath::test::piece_kernels_test
