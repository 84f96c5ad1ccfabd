// Streams that the program has not ordered never wait for each other in what they share.

#include <gmock/gmock.h>

#include "support/rig.h"

namespace polypath::test::lanes_test {
namespace {

using testing::IsEmpty;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kSize = 96 << 10;
const std::vector<std::string> kPaths{"direct", "gpu2", "gpu3", "host"};

Settings with_lanes(int lanes) {
  Settings settings = small_settings();
  settings.lanes = lanes;
  return settings;
}

// Two streams of beluga with buffers of their own.
class Lanes : public testing::TestWithParam<std::optional<Executor>> {
 protected:
  void start(int lanes) {
    rig_.emplace("beluga", with_lanes(lanes));
    for (int s = 0; s < 2; ++s) {
      streams_.push_back(rig_->stream("gpu0"));
      sources_.push_back(&rig_->buffer("gpu0", kSize));
      destinations_.push_back(&rig_->buffer("gpu1", kSize));
    }
    large_source_ = &rig_->buffer("gpu0", 64 * kMiB);
    large_destination_ = &rig_->buffer("gpu1", 64 * kMiB);
  }
  CopyResult copy(int s) {
    const auto index = static_cast<std::size_t>(s);
    return rig_->copy(*destinations_[index], *sources_[index], streams_[index],
                      forced(kPaths, GetParam()));
  }
  // Work of the caller's that takes much longer than everything else: 64 MiB at 48.3 GB/s take
  // 1.39 ms.
  void hold(int s, int copies = 2) {
    for (int i = 0; i < copies; ++i)
      rig_->copy(*large_destination_, *large_source_, streams_[static_cast<std::size_t>(s)],
                 forced({"direct"}, Executor::native));
  }
  [[nodiscard]] Seconds time_of(int s) {
    rig_->driver().synchronize(streams_[static_cast<std::size_t>(s)]);
    return rig_->driver().now();
  }

  std::optional<Rig> rig_;
  std::vector<StreamHandle> streams_;
  std::vector<Buffer*> sources_, destinations_;
  Buffer* large_source_ = nullptr;
  Buffer* large_destination_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Executors, Lanes, testing::Values(Executor::stream, Executor::graph),
                         [](const auto& info) { return info.index == 0 ? "stream" : "graph"; });

TEST_P(Lanes, ATransferDoesNotWaitForOneThatWaits) {
  start(2);
  const Seconds begin = rig_->driver().now();
  hold(0);
  EXPECT_EQ(copy(0).obstacle, FallbackReason::none);

  EXPECT_EQ(copy(1).obstacle, FallbackReason::none);

  EXPECT_LT((time_of(1) - begin).value, 1.5e-3);
  EXPECT_GT((time_of(0) - begin).value, 2.7e-3);
  EXPECT_TRUE(rig_->intact());
  EXPECT_THAT(rig_->close(), IsEmpty());
}

TEST_P(Lanes, WithoutAFreeOneACopyIsNative) {
  start(1);
  hold(0);
  (void)copy(0);

  const CopyResult result = copy(1);

  EXPECT_EQ(result.obstacle, FallbackReason::no_lane);
  EXPECT_EQ(result.executor, Executor::native);
  EXPECT_EQ(rig_->statistics().fallbacks, 0U);
  EXPECT_TRUE(rig_->intact());
  EXPECT_THAT(rig_->close(), IsEmpty());
}

TEST_P(Lanes, OneServesManyStreamsInTurn) {
  start(1);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(copy(i % 2).obstacle, FallbackReason::none);
    rig_->synchronize();
  }
  EXPECT_TRUE(rig_->intact());
  EXPECT_THAT(rig_->close(), IsEmpty());
}

TEST_P(Lanes, TheBorrowerKeepsItsOwn) {
  start(1);
  hold(0);

  for (int i = 0; i < 4; ++i) EXPECT_EQ(copy(0).obstacle, FallbackReason::none);

  EXPECT_TRUE(rig_->intact());
  EXPECT_THAT(rig_->close(), IsEmpty());
}

// 768 entries of a stream are used at most; a chunk takes two.
TEST_P(Lanes, AFullQueueIsNotFilledFurther) {
  start(1);
  PlanOptions options = forced(kPaths, GetParam());
  options.chunks = {{"gpu2", 100}, {"gpu3", 100}, {"host", 100}};
  hold(0, 64);  // longer than the calls take
  const auto copy_in_chunks = [&] {
    return rig_->copy(*large_destination_, 0, *large_source_, 0, kMiB, streams_[0], options);
  };
  std::vector<FallbackReason> met;

  for (int i = 0; i < 5; ++i) met.push_back(copy_in_chunks().obstacle);

  const bool graph = GetParam() == Executor::graph;  // one entry, however many copies
  EXPECT_EQ(met[2], FallbackReason::none);
  EXPECT_EQ(met[3], graph ? FallbackReason::none : FallbackReason::queue_full);
  rig_->synchronize();
  EXPECT_EQ(copy_in_chunks().obstacle, FallbackReason::none);
  EXPECT_TRUE(rig_->intact());
  EXPECT_THAT(rig_->close(), IsEmpty());
}

// An automatic plan then goes as a graph.
TEST(LaneQueue, AnAutomaticPlanBecomesAGraphWhereTheQueueIsFull) {
  Rig rig("beluga", with_lanes(1));
  const StreamHandle stream = rig.stream("gpu0");
  Buffer& source = rig.buffer("gpu0", 48 * kMiB);
  Buffer& destination = rig.buffer("gpu1", 48 * kMiB);
  PlanOptions options;
  options.shares = {{"direct", 0.4}, {"gpu2", 0.6}};
  options.chunks = {{"gpu2", 150}};

  std::vector<Executor> executors;
  for (int i = 0; i < 4; ++i)
    executors.push_back(rig.copy(destination, source, stream, options).executor);

  EXPECT_THAT(executors, testing::Contains(Executor::graph));
  EXPECT_TRUE(rig.intact());
  EXPECT_THAT(rig.close(), IsEmpty());
}

// --- giving back ---

TEST_P(Lanes, WhatNothingUsesIsGivenBackAndMadeAgain) {
  start(2);
  (void)copy(0), (void)copy(1);
  rig_->synchronize();
  const std::size_t with_rings = rig_->driver().leaks().size();

  EXPECT_TRUE(rig_->engine().give_back({}));

  EXPECT_LT(rig_->driver().leaks().size(), with_rings);
  EXPECT_FALSE(rig_->engine().give_back({}));
  EXPECT_EQ(copy(0).obstacle, FallbackReason::none);
  EXPECT_EQ(copy(1).obstacle, FallbackReason::none);
  EXPECT_TRUE(rig_->intact());
  EXPECT_EQ(rig_->driver().leaks().size(), with_rings);
  EXPECT_THAT(rig_->close(), IsEmpty());
}

TEST_P(Lanes, WhatIsInUseIsKept) {
  start(2);
  hold(0);
  (void)copy(0);
  const std::size_t with_rings = rig_->driver().leaks().size();

  EXPECT_FALSE(rig_->engine().give_back({}));

  EXPECT_EQ(rig_->driver().leaks().size(), with_rings);
  EXPECT_TRUE(rig_->intact());
  EXPECT_THAT(rig_->close(), IsEmpty());
}

TEST_P(Lanes, WhoeverLacksMemoryWaitsForWhatIsInFlight) {
  Rig rig("beluga", Settings{});  // chunks so large that they take longer than to issue them
  Buffer &source = rig.buffer("gpu0", 64 * kMiB), &destination = rig.buffer("gpu1", 64 * kMiB);
  (void)rig.copy(destination, source, rig.stream("gpu0"), forced(kPaths, GetParam()));

  EXPECT_FALSE(rig.engine().give_back({}));
  EXPECT_TRUE(rig.engine().release_memory({10}));

  EXPECT_TRUE(rig.intact());
  EXPECT_THAT(rig.close(), IsEmpty());
}

TEST_P(Lanes, WhoeverLacksMemoryDoesNotWaitForABorrower) {
  start(1);
  hold(0);
  (void)copy(0);

  EXPECT_FALSE(rig_->engine().release_memory({10}));

  EXPECT_TRUE(rig_->intact());
  EXPECT_THAT(rig_->close(), IsEmpty());
}

}  // namespace
}  // namespace polypath::test::lanes_test
