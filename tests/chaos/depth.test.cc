// Queues that have room for few entries: the call that finds one full waits, and goes on.

#include <thread>

#include "chaos/chaotic_program.h"

namespace polypath::test {
namespace {

constexpr int kDepth = 4;

class ChaosDepth : public Chaos {
 protected:
  static Variables few() {
    return {{"STANDIN_CHAOS", "1"}, {"STANDIN_QUEUE_DEPTH", std::to_string(kDepth)}};
  }
  // A held stream that has room for one more entry.
  StreamPointer nearly_full(Gate& gate, unsigned flags = cuda::kStreamNonBlocking) {
    const StreamPointer held = stream(flags);
    gate.close(held);
    for (int i = 1; i < kDepth - 1; ++i) (void)recorded(held);
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

TEST_F(ChaosDepth, EveryKindOfWorkIsOneEntryAndWaitsForRoom) {
  run(few(), [&] {
    const DevicePointer from = filled(kSmall, 1), to = filled(kSmall, 2);
    const cuda::GraphExecPointer graph = graph_of(3 * kDepth, to, from);
    const EventPointer other = recorded(stream());
    void (*nothing)(void*) = [](void*) {};
    void* data = nullptr;
    const std::vector<std::function<void(StreamPointer)>> kinds = {
        [&](StreamPointer queue) { copy(to, from, kSmall, queue); },
        [&](StreamPointer queue) { fill(to, 3, kSmall, queue); },
        [&](StreamPointer queue) { (void)recorded(queue); },
        [&](StreamPointer queue) { EXPECT_EQ(cu("cuStreamWaitEvent", queue, other, 0U), 0); },
        [&](StreamPointer queue) { EXPECT_EQ(cu("cuLaunchHostFunc", queue, nothing, data), 0); },
        [&](StreamPointer queue) {
          EXPECT_EQ(cu("cuStreamWriteValue32_v2", queue, to, 1U, 0U), 0);
        },
        [&](StreamPointer queue) { EXPECT_EQ(cu("cuGraphLaunch", graph, queue), 0); },
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
    (void)recorded(full);
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

TEST_F(ChaosDepth, AThousandEntriesFitOtherwise) {
  run(1, [&] {
    Gate gate;
    const StreamPointer held = stream();
    const EventPointer marker = event();
    gate.close(held);
    for (int i = 1; i < 1000; ++i) EXPECT_EQ(cu("cuEventRecord", marker, held), 0);

    EXPECT_FALSE(gate.is_open());
    gate.open_later();
    EXPECT_EQ(cu("cuEventRecord", marker, held), 0);
    EXPECT_TRUE(gate.is_open());
    return 0;
  });
}

}  // namespace
}  // namespace polypath::test
