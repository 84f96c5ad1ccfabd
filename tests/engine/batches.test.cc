// Batches of copies: over several paths where that gains over what the driver's own batch takes,
// else left to the caller.

#include "engine/blocks.h"
#include "engine/call/piece_set.h"
#include "support/layers.h"

namespace polypath::test::batches_test {
namespace {

class Batches : public BlocksOf {
 protected:
  Batches() : BlocksOf("h200x4", {}) {}

  bool take() {
    const bool taken = rig_.engine().take_batch(calls_);
    if (taken)
      for (const auto& expect : expectations_) expect();
    return taken;
  }
  bool may_take() {
    const CopyCall& first = calls_.front();
    const CopyEnds ends{.destination = destination_->place,
                        .source = source_->place,
                        .destination_kind = kind_of(*destination_),
                        .source_kind = kind_of(*source_)};
    return rig_.engine().may_take_batch(first, ends, calls_.size(), first.bytes * calls_.size());
  }
  MemoryKind kind_of(const Buffer& buffer) {
    return rig_.machine().place(buffer.place).kind == PlaceKind::gpu ? MemoryKind::device
                                                                     : MemoryKind::pinned;
  }
  int copies() { return rig_.driver().uses(sim::Call::copy); }
};

// 512 copies of 1 MiB natively take 512·(1 MiB/55.1 GB/s + 0.42 us) = 9.96 ms.
TEST_F(Batches, OfLargeBlocksGoOverSeveralPaths) {
  add("host", "gpu0", 512, 1 << 20);

  EXPECT_TRUE(may_take());
  const Seconds together = time_of([&] { EXPECT_TRUE(take()); });

  EXPECT_LT(together * 1.5, 9960_us);
  EXPECT_EQ(rig_.driver().uses(sim::Call::run_kernel), 0);
  EXPECT_EQ(rig_.statistics().transfers, 512U);
  expect_right();
}

TEST_F(Batches, OfMoreBlocksThanAreEnqueuedTogetherGoOverSeveralPaths) {
  add("host", "gpu0", engine::kPiecesTogether + 1, 512 << 10);

  EXPECT_TRUE(take());

  EXPECT_EQ(rig_.statistics().transfers, engine::kPiecesTogether + 1);
  EXPECT_EQ(rig_.statistics().native, 0U);
  expect_right();
}

// Natively 512·(64 KiB/55.1 GB/s + 0.42 us) = 824 us: less than the calls of single copies take.
TEST_F(Batches, OfSmallBlocksAreLeft) {
  add("host", "gpu0", 512, 64 << 10);

  EXPECT_FALSE(may_take());
  EXPECT_FALSE(take());

  EXPECT_EQ(copies(), 0);
  EXPECT_EQ(rig_.statistics().transfers, 0U);
  expect_right();
}

TEST_F(Batches, OfSeveralWaysAreLeft) {
  add("host", "gpu0", 64, 1 << 20);
  Buffer& other = rig_.buffer("gpu1", 1 << 20);
  add(other, 0, *source_, 0, 1 << 20);

  EXPECT_FALSE(take());

  EXPECT_EQ(copies(), 0);
  expect_right();
}

TEST_F(Batches, BesideWhatIsInFlightAreLeft) {
  add("host", "gpu0", 64, 1 << 20);
  Buffer& there = rig_.buffer("gpu1", 64 << 20);
  rig_.copy(there, rig_.buffer("host", 64 << 20), rig_.stream("gpu1"));
  const int before = copies();

  EXPECT_FALSE(take());

  EXPECT_EQ(copies(), before);
  expect_right();
}

TEST_F(Batches, ThatFailInTheMiddleAreLeftWithNothingQueued) {
  add("host", "gpu0", 64, 1 << 20);
  EXPECT_TRUE(take());
  rig_.driver().fail_nth(sim::Call::copy, 20);

  EXPECT_FALSE(take());

  EXPECT_EQ(rig_.statistics().transfers, 64U);
  expect_right();
}

}  // namespace
}  // namespace polypath::test::batches_test
