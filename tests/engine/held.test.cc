// Copies behind work that may wait for the program: others must not come behind them, and not too
// many may be queued.

#include <gmock/gmock.h>

#include "machine/load_machine.h"
#include "support/held_stream.h"
#include "support/rig.h"

namespace polypath::test::held_test {
namespace {

using testing::IsEmpty;

constexpr std::size_t kSize = 96 << 10;

class Held : public testing::Test {
 protected:
  struct Lane {
    StreamHandle stream;
    Buffer* source;
    Buffer* destination;
  };
  Lane lane() {
    return {rig_.stream("gpu0"), &rig_.buffer("gpu0", kSize), &rig_.buffer("gpu1", kSize)};
  }
  CopyResult copy(const Lane& lane, bool may_be_held = false) {
    const CopyCall call = rig_.call(*lane.destination, 0, *lane.source, 0, kSize, lane.stream,
                                    forced({"direct", "gpu2"}, std::nullopt));
    Decision decision = rig_.engine().decide(call);
    decision.may_be_held = may_be_held;
    lane.destination->expected = lane.source->expected;
    return rig_.engine().enqueue(decision);
  }

  // Streams have room for more than is queued here.
  static Machine roomy() {
    Machine machine = load_machine("beluga");
    machine.driver.stream_entries = 100'000;
    return machine;
  }

  Rig rig_{roomy(), small_settings()};
  PlaceId gpu_ = rig_.machine().find_place("gpu0");
};

TEST_F(Held, CopiesKeepThoseOfOtherStreamsAway) {
  const Lane held = lane(), other = lane();
  HeldStream stream(rig_.driver(), held.stream, gpu_);

  EXPECT_EQ(copy(held, true).obstacle, FallbackReason::none);
  EXPECT_EQ(copy(other).obstacle, FallbackReason::no_lane);
  EXPECT_EQ(copy(held, true).obstacle, FallbackReason::none);

  stream.release();
  EXPECT_EQ(copy(other).obstacle, FallbackReason::none);
  EXPECT_TRUE(rig_.intact());
  EXPECT_THAT(rig_.close(), IsEmpty());
}

TEST_F(Held, CopiesAreNativeWhenTooManyAreQueued) {
  constexpr int kMany = 100;
  const Lane held = lane();
  HeldStream stream(rig_.driver(), held.stream, gpu_);
  int queued = 0;

  while (queued < kMany && copy(held, true).obstacle == FallbackReason::none) ++queued;

  EXPECT_GT(queued, 4);
  EXPECT_LT(queued, 33);  // each takes two entries of the program's stream or more, of 64
  EXPECT_EQ(copy(held, true).obstacle, FallbackReason::queue_full);
  stream.release();
  EXPECT_EQ(copy(held, true).obstacle, FallbackReason::none);
  EXPECT_TRUE(rig_.intact());
  EXPECT_THAT(rig_.close(), IsEmpty());
}

}  // namespace
}  // namespace polypath::test::held_test
