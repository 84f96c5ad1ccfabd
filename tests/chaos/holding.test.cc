// What holds a stream, and what that holds up besides.

#include <thread>

#include "chaos/chaotic_program.h"
#include "support/layers.h"

namespace polypath::test::holding_test {
namespace {

using ChaosHolding = Chaos;

TEST_F(ChaosHolding, AFunctionHoldsItsStreamAndNoOther) {
  run(1, [&] {
    Gate gate;
    const DevicePointer memory = filled(kSmall, 1);
    const StreamPointer held = stream(), other = stream();
    gate.close(held);
    fill(memory, 2, kSmall, held);

    fill(memory, 3, kSmall, other);
    finish(other);
    EXPECT_EQ(contents(memory, 1)[0], 3);
    EXPECT_FALSE(is_done(held));
    gate.open();
    finish(held);
    EXPECT_EQ(contents(memory, 1)[0], 2);
    return 0;
  });
}

TEST_F(ChaosHolding, FunctionsRunOnAnotherThreadAndMayNotCallTheDriver) {
  run(1, [&] {
    struct Seen {
      std::thread::id thread;
      Result result = 0;
    } seen;
    const StreamPointer queue = stream();
    void (*function)(void*) = [](void* data) {
      DevicePointer memory = 0;
      static_cast<Seen*>(data)->thread = std::this_thread::get_id();
      static_cast<Seen*>(data)->result = cu("cuMemAlloc_v2", &memory, kSmall);
    };
    void* data = &seen;
    EXPECT_EQ(cu("cuLaunchHostFunc", queue, function, data), 0);
    finish(queue);

    EXPECT_NE(seen.thread, std::this_thread::get_id());
    EXPECT_EQ(seen.result, standin::kNotPermitted);
    return 0;
  });
}

TEST_F(ChaosHolding, ADestroyedStreamsWorkIsDoneAllTheSame) {
  run(1, [&] {
    Gate gate;
    const DevicePointer memory = filled(kSmall, 1);
    const StreamPointer held = stream();
    gate.close(held);
    fill(memory, 2, kSmall, held);
    const EventPointer done = recorded(held);

    EXPECT_EQ(cu("cuStreamDestroy_v2", held), 0);
    EXPECT_FALSE(is_done(done));
    gate.open();
    EXPECT_EQ(cu("cuEventSynchronize", done), 0);
    EXPECT_EQ(contents(memory, 1)[0], 2);
    return 0;
  });
}

// Streams get the GPU's queues by turns, and what is held in one holds up the others in it.
TEST_F(ChaosHolding, EveryFourthStreamStandsStillBehindAHeldCopy) {
  run(1, [&] {
    Gate gate;
    const DevicePointer memory = filled(kSmall, 1);
    std::vector<StreamPointer> streams;
    for (int i = 0; i < 12; ++i) streams.push_back(stream());
    const void* host = pinned(kSmall);
    const auto copy_in = [&](StreamPointer to) {
      EXPECT_EQ(cu("cuMemcpyHtoDAsync_v2", memory, host, kSmall, to), 0);
    };
    gate.close(streams[0]);
    copy_in(streams[0]);

    for (std::size_t i = 1; i < streams.size(); ++i) copy_in(streams[i]);
    for (std::size_t i = 1; i < streams.size(); ++i)
      if (i % 4 != 0) finish(streams[i]);
    EXPECT_FALSE(is_done(streams[4]));
    EXPECT_FALSE(is_done(streams[8]));
    gate.open();
    EXPECT_EQ(cu("cuCtxSynchronize"), 0);
    return 0;
  });
}

TEST_F(ChaosHolding, AStreamThatOnlyWaitsForAHeldOneHoldsUpAsMuch) {
  run({{"STANDIN_CHAOS", "1"}, {"STANDIN_QUEUES", "2"}}, [&] {
    Gate gate;
    const DevicePointer memory = filled(kSmall, 1);
    const StreamPointer held = stream(), waiting = stream(), third = stream(), fourth = stream();
    gate.close(held);
    EXPECT_EQ(cu("cuStreamWaitEvent", waiting, recorded(held), 0U), 0);
    copy(memory + 8, memory, 8, waiting);

    copy(memory + 16, memory, 8, fourth);
    copy(memory + 24, memory, 8, third);
    finish(third);
    EXPECT_FALSE(is_done(fourth));
    gate.open();
    finish(fourth);
    return 0;
  });
}

}  // namespace
}  // namespace polypath::test::holding_test
