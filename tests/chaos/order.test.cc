// Order between streams: what must hold holds with every seed, and what need not is seen to fail.

#include <algorithm>

#include "chaos/chaotic_program.h"
#include "support/layers.h"

namespace polypath::test::order_test {
namespace {

using ChaosOrder = Chaos;

TEST_F(ChaosOrder, WhatNothingOrdersComesInBothOrders) {
  const auto last = [&] {
    const DevicePointer memory = filled(kSmall, 0);
    fill(memory, 1, kSmall, stream());
    fill(memory, 2, kSmall, stream());
    EXPECT_EQ(cu("cuCtxSynchronize"), 0);
    return static_cast<int>(contents(memory, 1)[0]);
  };

  EXPECT_TRUE(happens(1, last));
  EXPECT_TRUE(happens(2, last));
}

TEST_F(ChaosOrder, OneStreamsWorkComesInItsOrder) {
  EXPECT_TRUE(always(1, [&] {
    const DevicePointer memory = filled(kPieces, 0);
    const StreamPointer queue = stream();
    for (unsigned char value = 1; value <= 8; ++value) fill(memory, value, kPieces, queue);
    finish(queue);
    return all_are(memory, 8);
  }));
}

// 1: only the first fill's bytes, 2: only the second one's, 3: some of each.
TEST_F(ChaosOrder, UnorderedPiecesMix) {
  EXPECT_TRUE(happens(3, [&] {
    const DevicePointer memory = filled(kPieces, 0);
    fill(memory, 1, kPieces, stream());
    fill(memory, 2, kPieces, stream());
    EXPECT_EQ(cu("cuCtxSynchronize"), 0);
    const Contents mixed = contents(memory, kPieces);
    return (std::count(mixed.begin(), mixed.end(), 1) > 0 ? 1 : 0) +
           (std::count(mixed.begin(), mixed.end(), 2) > 0 ? 2 : 0);
  }));
}

TEST_F(ChaosOrder, EventsOrderAndMissingOnesShow) {
  const auto reader_sees = [&](bool waits) {
    const DevicePointer first = filled(kPieces, 1), second = filled(kPieces, 2, 1);
    const DevicePointer third = filled(kPieces, 3);
    const StreamPointer writer = stream(), reader = stream_of(1);
    copy(second, first, kPieces, writer);
    if (waits) EXPECT_EQ(cu("cuStreamWaitEvent", reader, recorded(writer), 0U), 0);
    copy(third, second, kPieces, reader);
    finish(reader);
    finish(writer);
    return all_are(third, 1);
  };

  EXPECT_TRUE(always(1, [&] { return reader_sees(true); }));
  EXPECT_TRUE(happens(0, [&] { return reader_sees(false); }));
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

TEST_F(ChaosOrder, AGraphIsLaunchedAfterItsEarlierLaunchesInWhateverStream) {
  run(1, [&] {
    Gate gate;
    const DevicePointer from = filled(kSmall, 1), to = filled(kSmall, 2);
    const StreamPointer held = stream(), other = stream();
    cuda::GraphPointer graph = nullptr;
    cuda::GraphExecPointer executable = nullptr;
    EXPECT_EQ(cu("cuStreamBeginCapture_v2", other, 2), 0);
    copy(to, from, kSmall, other);
    EXPECT_EQ(cu("cuStreamEndCapture", other, &graph), 0);
    EXPECT_EQ(cu("cuGraphInstantiateWithFlags", &executable, graph, 0ULL), 0);
    gate.close(held);
    EXPECT_EQ(cu("cuGraphLaunch", executable, held), 0);

    EXPECT_EQ(cu("cuGraphLaunch", executable, other), 0);
    gate.open_later();
    finish(other);
    EXPECT_TRUE(gate.is_open());
    return 0;
  });
}

TEST_F(ChaosOrder, GraphsKeepTheirEdgesAndNothingElse) {
  const auto launched = [&](bool ordered) {
    const DevicePointer first = filled(kPieces, 1), second = filled(kPieces, 2, 1);
    const DevicePointer third = filled(kPieces, 3);
    const StreamPointer origin = stream(), branch = stream();
    cuda::GraphPointer graph = nullptr;
    cuda::GraphExecPointer executable = nullptr;
    EXPECT_EQ(cu("cuStreamBeginCapture_v2", origin, 2), 0);
    const EventPointer fork = recorded(origin);
    EXPECT_EQ(cu("cuStreamWaitEvent", branch, fork, 0U), 0);
    copy(second, first, kPieces, origin);
    if (ordered) EXPECT_EQ(cu("cuStreamWaitEvent", branch, recorded(origin), 0U), 0);
    copy(third, second, kPieces, branch);
    EXPECT_EQ(cu("cuStreamWaitEvent", origin, recorded(branch), 0U), 0);
    EXPECT_EQ(cu("cuStreamEndCapture", origin, &graph), 0);
    EXPECT_EQ(cu("cuGraphInstantiateWithFlags", &executable, graph, 0ULL), 0);
    EXPECT_EQ(cu("cuGraphLaunch", executable, origin), 0);
    finish(origin);
    return all_are(third, 1);
  };

  EXPECT_TRUE(always(1, [&] { return launched(true); }));
  EXPECT_TRUE(happens(0, [&] { return launched(false); }));
}

}  // namespace
}  // namespace polypath::test::order_test
