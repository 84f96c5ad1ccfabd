// How much is queued in the streams of a lane, before a call would block.

#include "engine/execute/queue_depth.h"

#include <gtest/gtest.h>

#include "support/held_stream.h"
#include "support/rig.h"

namespace polypath::test::queue_depth_test {
namespace {

constexpr int kMost = 16;  // entries; an event for each four

class Depth : public testing::Test {
 protected:
  void add(std::size_t entries) { depth_.add(entries, stream_, gpu_); }

  Rig rig_{"beluga"};
  PlaceId gpu_ = rig_.machine().find_place("gpu0");
  StreamHandle stream_ = rig_.stream("gpu0");
  QueueDepth depth_{rig_.driver(), kMost};
};

TEST_F(Depth, CountsWhatIsQueuedWithAndWithoutAnEvent) {
  const HeldStream held(rig_.driver(), stream_, gpu_);

  add(4), add(4), add(4);
  add(3);

  EXPECT_TRUE(depth_.fits(1));
  EXPECT_FALSE(depth_.fits(2));
}

TEST_F(Depth, HasRoomAgainWhenWhatWasQueuedIsDone) {
  HeldStream held(rig_.driver(), stream_, gpu_);
  add(8), add(8);
  EXPECT_FALSE(depth_.fits(1));

  held.release();

  EXPECT_TRUE(depth_.fits(1));
  EXPECT_TRUE(depth_.fits(kMost));
}

TEST_F(Depth, CountsWhatTheDriverCannotSayTheEndOfAsQueued) {
  add(8), add(8);
  rig_.driver().synchronize(stream_);

  rig_.driver().fail_nth(sim::Call::is_done, 1);

  EXPECT_FALSE(depth_.fits(1));
  EXPECT_TRUE(depth_.fits(1));
}

TEST_F(Depth, HasRoomForMoreThanThereIsWhereNothingIsQueued) {
  EXPECT_TRUE(depth_.fits(std::size_t{10} * kMost));

  const HeldStream held(rig_.driver(), stream_, gpu_);
  add(8);

  EXPECT_FALSE(depth_.fits(std::size_t{10} * kMost));
}

}  // namespace
}  // namespace polypath::test::queue_depth_test
