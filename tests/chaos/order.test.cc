// Order between streams: what must hold holds with every seed, and what need not is seen to fail.

#include <algorithm>

#include "chaos/chaotic_program.h"

namespace polypath::test {
namespace {

class ChaosOrder : public Chaos {};

constexpr std::set<int> (*both)() = [] { return std::set<int>{1, 2}; };

TEST_F(ChaosOrder, WhatNothingOrdersComesInBothOrders) {
  const auto seen = outcomes(both(), [&] {
    const DevicePointer memory = filled(kSmall, 0);
    fill(memory, 1, kSmall, stream());
    fill(memory, 2, kSmall, stream());
    EXPECT_EQ(cu("cuCtxSynchronize"), 0);
    return static_cast<int>(contents(memory, 1)[0]);
  });

  EXPECT_EQ(seen, both());
}

TEST_F(ChaosOrder, OneStreamsWorkComesInItsOrder) {
  for (int seed = 1; seed <= kSeeds; ++seed)
    EXPECT_EQ(run(seed,
                  [&] {
                    const DevicePointer memory = filled(kLarge, 0);
                    const StreamPointer queue = stream();
                    for (unsigned char value = 1; value <= 8; ++value)
                      fill(memory, value, kLarge, queue);
                    EXPECT_EQ(contents(memory, kLarge).size(), kLarge);
                    finish(queue);
                    const Contents last = contents(memory, kLarge);
                    return static_cast<int>(std::count(last.begin(), last.end(), 8) == kLarge);
                  }),
              1);
}

// 1: only the first fill's bytes, 2: only the second one's, 3: some of each.
TEST_F(ChaosOrder, UnorderedPiecesMix) {
  const auto seen = outcomes({1, 2, 3}, [&] {
    const DevicePointer memory = filled(kLarge, 0);
    fill(memory, 1, kLarge, stream());
    fill(memory, 2, kLarge, stream());
    EXPECT_EQ(cu("cuCtxSynchronize"), 0);
    const Contents mixed = contents(memory, kLarge);
    return (std::count(mixed.begin(), mixed.end(), 1) > 0 ? 1 : 0) +
           (std::count(mixed.begin(), mixed.end(), 2) > 0 ? 2 : 0);
  });

  EXPECT_TRUE(seen.contains(3));
}

TEST_F(ChaosOrder, EventsOrderAndMissingOnesShow) {
  const auto reader_sees = [&](bool waits) {
    const DevicePointer first = filled(kLarge, 1), second = filled(kLarge, 2, 1);
    const DevicePointer third = filled(kLarge, 3);
    const StreamPointer writer = stream(), reader = stream_of(1);
    copy(second, first, kLarge, writer);
    if (waits) EXPECT_EQ(cu("cuStreamWaitEvent", reader, recorded(writer), 0U), 0);
    copy(third, second, kLarge, reader);
    finish(reader);
    finish(writer);
    const Contents seen = contents(third, kLarge);
    return std::count(seen.begin(), seen.end(), 1) == kLarge ? 1 : 2;
  };

  for (int seed = 1; seed <= kSeeds; ++seed)
    EXPECT_EQ(run(seed, [&] { return reader_sees(true); }), 1);
  EXPECT_TRUE(outcomes(both(), [&] { return reader_sees(false); }).contains(2));
}

// A copy in one stream, another one of its result in the other: 1 if it saw all of it.
class ChaosLegacyOrder : public ChaosOrder {
 protected:
  int chained(StreamPointer first, StreamPointer second) {
    const DevicePointer from = filled(kLarge, 1), middle = filled(kLarge, 2, 1);
    const DevicePointer to = filled(kLarge, 3);
    copy(middle, from, kLarge, first);
    copy(to, middle, kLarge, second);
    EXPECT_EQ(cu("cuCtxSynchronize"), 0);
    const Contents seen = contents(to, kLarge);
    return std::count(seen.begin(), seen.end(), 1) == kLarge ? 1 : 2;
  }
  static constexpr StreamPointer kLegacy = nullptr;
};

TEST_F(ChaosLegacyOrder, TheLegacyStreamIsInOrderWithBlockingOnesBothWays) {
  for (int seed = 1; seed <= kSeeds; ++seed) {
    EXPECT_EQ(run(seed, [&] { return chained(kLegacy, stream(0)); }), 1);
    EXPECT_EQ(run(seed, [&] { return chained(stream(0), kLegacy); }), 1);
    EXPECT_EQ(run(seed, [&] { return chained(kLegacy, standin::kPerThreadStream); }), 1);
    EXPECT_EQ(run(seed, [&] { return chained(standin::kPerThreadStream, kLegacy); }), 1);
  }
}

TEST_F(ChaosLegacyOrder, NonBlockingStreamsAndThoseOfOtherContextsAreNot) {
  EXPECT_TRUE(outcomes(both(), [&] { return chained(kLegacy, stream()); }).contains(2));
  EXPECT_TRUE(outcomes(both(), [&] { return chained(stream(), kLegacy); }).contains(2));
}

TEST_F(ChaosLegacyOrder, BlockingStreamsAreNotInOrderWithEachOther) {
  EXPECT_TRUE(outcomes(both(), [&] { return chained(stream(0), stream(0)); }).contains(2));
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
    const DevicePointer from = filled(kLarge, 1), between = filled(kLarge, 2, 1);
    const DevicePointer before = filled(kLarge, 3, 1), after = filled(kLarge, 4, 1);
    const StreamPointer theirs = stream_of(1, 0);
    copy(before, between, kLarge, theirs);
    copy(between, from, kLarge, kLegacy);
    copy(after, between, kLarge, theirs);
    finish(theirs);
    const Contents saw_before = contents(before, kLarge), saw_after = contents(after, kLarge);
    return std::count(saw_before.begin(), saw_before.end(), 2) == kLarge &&
                   std::count(saw_after.begin(), saw_after.end(), 1) == kLarge
               ? 1
               : 2;
  };

  for (int seed = 1; seed <= 2 * kSeeds; ++seed) EXPECT_EQ(run(seed, copies), 1);
}

TEST_F(ChaosOrder, AnEventStandsForWhatWasThereWhenItWasRecorded) {
  run(1, [&] {
    Gate gate;
    const StreamPointer held = stream(), waiting = stream();
    const EventPointer marker = recorded(held);
    EXPECT_EQ(cu("cuStreamWaitEvent", waiting, marker, 0U), 0);
    gate.close(held);
    EXPECT_EQ(cu("cuEventRecord", marker, held), 0);

    finish(waiting);  // the later record does not concern it
    EXPECT_FALSE(is_done(marker));
    gate.open();
    EXPECT_EQ(cu("cuEventSynchronize", marker), 0);
    return 0;
  });
}

TEST_F(ChaosOrder, AnEventThatWasNeverRecordedHoldsNobody) {
  run(1, [&] {
    const StreamPointer waiting = stream();
    EXPECT_EQ(cu("cuStreamWaitEvent", waiting, event(), 0U), 0);
    finish(waiting);
    return 0;
  });
}

TEST_F(ChaosOrder, GraphsKeepTheirEdgesAndNothingElse) {
  const auto launched = [&](bool ordered) {
    const DevicePointer first = filled(kLarge, 1), second = filled(kLarge, 2, 1);
    const DevicePointer third = filled(kLarge, 3);
    const StreamPointer origin = stream(), branch = stream();
    cuda::GraphPointer graph = nullptr;
    cuda::GraphExecPointer executable = nullptr;
    EXPECT_EQ(cu("cuStreamBeginCapture_v2", origin, 2), 0);
    const EventPointer fork = recorded(origin);
    EXPECT_EQ(cu("cuStreamWaitEvent", branch, fork, 0U), 0);
    copy(second, first, kLarge, origin);
    if (ordered) EXPECT_EQ(cu("cuStreamWaitEvent", branch, recorded(origin), 0U), 0);
    copy(third, second, kLarge, branch);
    EXPECT_EQ(cu("cuStreamWaitEvent", origin, recorded(branch), 0U), 0);
    EXPECT_EQ(cu("cuStreamEndCapture", origin, &graph), 0);
    EXPECT_EQ(cu("cuGraphInstantiateWithFlags", &executable, graph, 0ULL), 0);
    EXPECT_EQ(cu("cuGraphLaunch", executable, origin), 0);
    finish(origin);
    const Contents seen = contents(third, kLarge);
    return std::count(seen.begin(), seen.end(), 1) == kLarge ? 1 : 2;
  };

  for (int seed = 1; seed <= kSeeds; ++seed)
    EXPECT_EQ(run(seed, [&] { return launched(true); }), 1);
  EXPECT_TRUE(outcomes(both(), [&] { return launched(false); }).contains(2));
}

}  // namespace
}  // namespace polypath::test
