// Which calls wait for what is held.

#include <thread>

#include "chaos/chaotic_program.h"
#include "support/layers.h"

namespace polypath::test::waiting_calls_test {
namespace {

using ChaosHolding = Chaos;

TEST_F(ChaosHolding, DestroyingEventsAndStreamsDoesNotWait) {
  run(1, [&] {
    Gate gate;
    const StreamPointer held = stream();
    const EventPointer marker = event();
    gate.close(held);
    EXPECT_EQ(cu("cuEventRecord", marker, held), 0);

    EXPECT_EQ(cu("cuEventDestroy_v2", marker), 0);
    EXPECT_EQ(cu("cuStreamDestroy_v2", held), 0);
    gate.open();
    EXPECT_EQ(cu("cuCtxSynchronize"), 0);
    return 0;
  });
}

TEST_F(ChaosHolding, SynchronisingWaits) {
  for (const int way : {0, 1, 2})
    run(1, [&] {
      Gate gate;
      const StreamPointer held = stream();
      gate.close(held);
      const EventPointer marker = recorded(held);

      gate.open_later();
      if (way == 0) finish(held);
      if (way == 1) EXPECT_EQ(cu("cuEventSynchronize", marker), 0);
      if (way == 2) EXPECT_EQ(cu("cuCtxSynchronize"), 0);
      EXPECT_TRUE(gate.is_open());
      return 0;
    });
}

// As seen on H200, driver 580, as is all up to the end of contexts.
TEST_F(ChaosHolding, FreeingMemoryOfAGpuWaitsForAllThatItHasToDo) {
  for (const bool host : {false, true})
    run(1, [&] {
      Gate gate;
      const DevicePointer unused = filled(kSmall, 1), other = filled(kSmall, 1, 1);
      void* unused_host = pinned(kSmall);
      gate.close(stream());

      EXPECT_EQ(cu("cuMemFree_v2", other), 0);
      EXPECT_FALSE(gate.is_open());
      gate.open_later();
      EXPECT_EQ(host ? cu("cuMemFreeHost", unused_host) : cu("cuMemFree_v2", unused), 0);
      EXPECT_TRUE(gate.is_open());
      return 0;
    });
}

// A thread that enqueues again and again comes to a stop: only then is the gate opened.
TEST_F(ChaosHolding, WhileAThreadWaitsInItOthersEnqueueNothing) {
  run(1, [&] {
    Gate gate;
    const DevicePointer unused = filled(kSmall, 1), used = filled(kSmall, 1);
    const StreamPointer held = stream(), other = stream();
    std::atomic<int> enqueued = 0;
    std::atomic<bool> freed = false;
    gate.close(held);
    std::thread freeing([&] {
      use(0);
      EXPECT_EQ(cu("cuMemFree_v2", unused), 0);
      freed = true;
    });
    std::thread enqueueing([&] {
      use(0);
      for (; !freed; ++enqueued) fill(used, 2, kSmall, other);
    });

    for (int before = -1; before != enqueued;) {
      before = enqueued;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_FALSE(freed);
    gate.open();
    freeing.join();
    enqueueing.join();
    finish(other);
    return 0;
  });
}

TEST_F(ChaosHolding, AContextEndsWhenItsWorkHasFinished) {
  for (const char* end : {"cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxReset_v2"})
    run(1, [&] {
      Gate gate;
      const StreamPointer held = stream_of(2);
      gate.close(held);

      gate.open_later();
      EXPECT_EQ(cu(end, 2), 0);
      EXPECT_TRUE(gate.is_open());
      EXPECT_EQ(cu("cuStreamQuery", held), standin::kInvalidHandle);
      return 0;
    });
}

}  // namespace
}  // namespace polypath::test::waiting_calls_test
