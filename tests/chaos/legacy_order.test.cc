// The legacy stream: what is in order with it, and what is not.

#include "chaos/chaotic_program.h"
#include "support/layers.h"

namespace polypath::test::legacy_order_test {
namespace {

// A copy in one stream, another one of its result in the other: 1 if it saw all of it.
class ChaosLegacyOrder : public Chaos {
 protected:
  int chained(StreamPointer first, StreamPointer second) {
    const DevicePointer from = filled(kPieces, 1), middle = filled(kPieces, 2, 1);
    const DevicePointer to = filled(kPieces, 3);
    copy(middle, from, kPieces, first);
    copy(to, middle, kPieces, second);
    EXPECT_EQ(cu("cuCtxSynchronize"), 0);
    return all_are(to, 1);
  }
  static constexpr StreamPointer kLegacy = nullptr;
};

TEST_F(ChaosLegacyOrder, TheLegacyStreamIsInOrderWithBlockingOnesBothWays) {
  EXPECT_TRUE(always(1, [&] { return chained(kLegacy, stream(0)); }));
  EXPECT_TRUE(always(1, [&] { return chained(stream(0), kLegacy); }));
  EXPECT_TRUE(always(1, [&] { return chained(kLegacy, standin::kPerThreadStream); }));
  EXPECT_TRUE(always(1, [&] { return chained(standin::kPerThreadStream, kLegacy); }));
}

TEST_F(ChaosLegacyOrder, NonBlockingStreamsAndThoseOfOtherContextsAreNot) {
  EXPECT_TRUE(happens(0, [&] { return chained(kLegacy, stream()); }));
  EXPECT_TRUE(happens(0, [&] { return chained(stream(), kLegacy); }));
}

TEST_F(ChaosLegacyOrder, BlockingStreamsAreNotInOrderWithEachOther) {
  EXPECT_TRUE(happens(0, [&] { return chained(stream(0), stream(0)); }));
}

// As seen on H200, driver 580.
TEST_F(ChaosLegacyOrder, AnEmptyBlockingStreamDoesNotWaitForTheLegacyOneButItsEventsDo) {
  run(1, [&] {
    Gate gate;
    const StreamPointer blocking = stream(0);
    gate.close(kLegacy);

    EXPECT_TRUE(is_done(blocking));
    finish(blocking);
    const EventPointer marker = recorded(blocking);
    gate.open_later();
    EXPECT_EQ(cu("cuEventSynchronize", marker), 0);
    EXPECT_TRUE(gate.is_open());
    return 0;
  });
}

TEST_F(ChaosLegacyOrder, AnEventOfABlockingStreamHoldsOtherStreamsForTheLegacyOne) {
  run(1, [&] {
    Gate gate;
    const StreamPointer blocking = stream(0), waiting = stream();
    gate.close(kLegacy);

    EXPECT_EQ(cu("cuStreamWaitEvent", waiting, recorded(blocking), 0U), 0);
    gate.open_later();
    finish(waiting);
    EXPECT_TRUE(gate.is_open());
    return 0;
  });
}

TEST_F(ChaosLegacyOrder, SynchronisingTheLegacyStreamOrAnEventInItWaitsForBlockingOnes) {
  for (const bool by_event : {false, true})
    run(1, [&] {
      Gate gate;
      gate.close(stream(0));

      EXPECT_FALSE(is_done(kLegacy));
      const EventPointer marker = by_event ? recorded(kLegacy) : nullptr;
      gate.open_later();
      if (by_event) EXPECT_EQ(cu("cuEventSynchronize", marker), 0);
      else finish(kLegacy);
      EXPECT_TRUE(gate.is_open());
      return 0;
    });
}

TEST_F(ChaosLegacyOrder, NonBlockingStreamsGoOnBesideIt) {
  run(1, [&] {
    Gate gate;
    gate.close(kLegacy);
    const StreamPointer beside = stream();

    fill(filled(kSmall, 1), 2, kSmall, beside);
    finish(beside);
    EXPECT_FALSE(is_done(kLegacy));
    gate.open();
    finish(kLegacy);
    return 0;
  });
}

// CUDA C++ Programming Guide, "Peer-to-Peer Memory Copy".
TEST_F(ChaosLegacyOrder, ACopyBetweenGpusInItIsInOrderWithBothGpus) {
  const auto copies = [&] {
    const DevicePointer from = filled(kPieces, 1), between = filled(kPieces, 2, 1);
    const DevicePointer before = filled(kPieces, 3, 1), after = filled(kPieces, 4, 1);
    const StreamPointer theirs = stream_of(1, 0);
    copy(before, between, kPieces, theirs);
    copy(between, from, kPieces, kLegacy);
    copy(after, between, kPieces, theirs);
    finish(theirs);
    return all_are(before, 2) && all_are(after, 1);
  };

  EXPECT_TRUE(always(1, copies));
}

}  // namespace
}  // namespace polypath::test::legacy_order_test
