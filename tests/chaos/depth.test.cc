// Queues that have room for little: the call that finds one full waits, and goes on. What takes
// room and how much is as seen on H200, driver 580.

#include <thread>

#include "chaos/chaotic_program.h"
#include "support/layers.h"

namespace polypath::test::depth_test {
namespace {

constexpr int kDepth = 4;

class ChaosDepth : public Chaos {
 protected:
  static Variables few() {
    return {{"STANDIN_CHAOS", "1"}, {"STANDIN_QUEUE_DEPTH", std::to_string(kDepth)}};
  }
  // A held stream that has room for one more entry.
  StreamPointer nearly_full(Gate& gate) {
    const DevicePointer unused = filled(kSmall, 0);
    const StreamPointer held = stream();
    gate.close(held);
    for (int i = 1; i < kDepth; ++i) fill(unused, 0, 8, held);
    return held;
  }
  cuda::GraphExecPointer graph_of(int nodes, DevicePointer to, DevicePointer from) {
    const StreamPointer origin = stream();
    cuda::GraphPointer graph = nullptr;
    cuda::GraphExecPointer executable = nullptr;
    EXPECT_EQ(cu("cuStreamBeginCapture_v2", origin, 2), 0);
    for (int i = 0; i < nodes; ++i) copy(to, from, kSmall, origin);
    EXPECT_EQ(cu("cuStreamEndCapture", origin, &graph), 0);
    EXPECT_EQ(cu("cuGraphInstantiateWithFlags", &executable, graph, 0ULL), 0);
    return executable;
  }
};

TEST_F(ChaosDepth, WorkAndWaitsForOtherContextsTakeRoom) {
  run(few(), [&] {
    const DevicePointer from = filled(kSmall, 1), to = filled(kSmall, 2);
    const StreamPointer elsewhere = stream_of(1);
    use(1);
    const EventPointer theirs = recorded(elsewhere);
    use(0);
    const std::vector<std::function<void(StreamPointer)>> kinds = {
        [&](StreamPointer queue) { copy(to, from, kSmall, queue); },
        [&](StreamPointer queue) { fill(to, 3, kSmall, queue); },
        [&](StreamPointer queue) { EXPECT_EQ(cu("cuStreamWaitEvent", queue, theirs, 0U), 0); },
        [&](StreamPointer queue) {
          EXPECT_EQ(cu("cuStreamWriteValue32_v2", queue, to, 1U, 0U), 0);
        },
    };

    for (const auto& enqueue : kinds) {
      Gate gate;
      const StreamPointer queue = nearly_full(gate);
      enqueue(queue);
      EXPECT_FALSE(gate.is_open());
      gate.open_later();
      enqueue(queue);
      EXPECT_TRUE(gate.is_open());
      finish(queue);
    }
    return 0;
  });
}

TEST_F(ChaosDepth, RecordsWaitsAndFunctionsDoNot) {
  run(few(), [&] {
    Gate gate;
    const DevicePointer memory = filled(kSmall, 1);
    const StreamPointer queue = nearly_full(gate);
    const EventPointer own = recorded(stream());
    void (*nothing)(void*) = [](void*) {};
    void* data = nullptr;
    fill(memory, 2, kSmall, queue);

    for (int i = 0; i < 3 * kDepth; ++i) {
      EXPECT_EQ(cu("cuEventRecord", own, queue), 0);
      EXPECT_EQ(cu("cuStreamWaitEvent", queue, own, 0U), 0);
      EXPECT_EQ(cu("cuLaunchHostFunc", queue, nothing, data), 0);
    }
    EXPECT_FALSE(is_done(queue));
    gate.open();
    finish(queue);
    return 0;
  });
}

TEST_F(ChaosDepth, AGraphTakesTwoPlacesWhateverIsInIt) {
  run(few(), [&] {
    Gate gate;
    const DevicePointer from = filled(kSmall, 1), to = filled(kSmall, 2);
    const cuda::GraphExecPointer graph = graph_of(3 * kDepth, to, from);
    const StreamPointer queue = stream();
    gate.close(queue);
    for (int i = 0; i < kDepth / 2; ++i) EXPECT_EQ(cu("cuGraphLaunch", graph, queue), 0);

    EXPECT_FALSE(gate.is_open());
    gate.open_later();
    EXPECT_EQ(cu("cuGraphLaunch", graph, queue), 0);
    EXPECT_TRUE(gate.is_open());
    finish(queue);
    return 0;
  });
}

TEST_F(ChaosDepth, StreamsThatShareAQueueShareItsRoom) {
  run({{"STANDIN_CHAOS", "1"}, {"STANDIN_QUEUE_DEPTH", "4"}, {"STANDIN_QUEUES", "2"}}, [&] {
    Gate gate;
    const DevicePointer memory = filled(kSmall, 1);
    const StreamPointer full = nearly_full(gate), beside = stream(), sharing = stream();
    fill(memory, 2, kSmall, full);

    fill(memory, 3, kSmall, beside);
    finish(beside);
    EXPECT_FALSE(gate.is_open());
    gate.open_later();
    fill(memory, 4, kSmall, sharing);
    EXPECT_TRUE(gate.is_open());
    return 0;
  });
}

TEST_F(ChaosDepth, WhatIsEnqueuedIsThereOnce) {
  run(few(), [&] {
    const DevicePointer memory = filled(100 * kSmall, 0);
    const StreamPointer queue = stream();
    for (unsigned char i = 0; i < 100; ++i) fill(memory + i * kSmall, i, kSmall, queue);
    finish(queue);

    const Contents filled = contents(memory, 100 * kSmall);
    for (unsigned char i = 0; i < 100; ++i) EXPECT_EQ(filled[i * kSmall + 5], i);
    return 0;
  });
}

TEST_F(ChaosDepth, AFullQueueKeepsNobodyElseOutOfTheDriver) {
  run(few(), [&] {
    Gate gate;
    const DevicePointer memory = filled(kSmall, 1);
    const StreamPointer full = nearly_full(gate), other = stream();
    fill(memory, 1, kSmall, full);
    std::thread blocked([&] {
      use(0);
      fill(memory, 2, kSmall, full);
    });

    for (int i = 0; i < 20; ++i) fill(memory, 3, kSmall, other);
    finish(other);
    EXPECT_FALSE(is_done(full));
    gate.open();
    blocked.join();
    finish(full);
    EXPECT_EQ(contents(memory, 1)[0], 2);
    return 0;
  });
}

TEST_F(ChaosDepth, AboutAThousandFitOtherwise) {
  run(1, [&] {
    Gate gate;
    const DevicePointer memory = filled(kSmall, 1);
    const StreamPointer held = stream();
    gate.close(held);
    for (int i = 0; i < 1021; ++i) fill(memory, 2, 8, held);

    EXPECT_FALSE(gate.is_open());
    gate.open_later();
    fill(memory, 2, 8, held);
    EXPECT_TRUE(gate.is_open());
    return 0;
  });
}

}  // namespace
}  // namespace polypath::test::depth_test
