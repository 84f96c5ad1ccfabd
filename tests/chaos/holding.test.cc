// What holds a stream, what that holds up besides, and which calls wait for it.

#include <thread>

#include "chaos/chaotic_program.h"
#include "standin/peer.h"

namespace polypath::test {
namespace {

class ChaosHolding : public Chaos {
 protected:
  static constexpr StreamPointer kLegacy = nullptr;
  static Result wait32(StreamPointer queue, const void* where, unsigned value, unsigned how) {
    return cu("cuStreamWaitValue32_v2", queue, address(where), value, how);
  }
};

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

TEST_F(ChaosHolding, WhatGivesThingsBackDoesNotWait) {
  run(1, [&] {
    Gate gate;
    const StreamPointer held = stream();
    const EventPointer marker = event();
    void* host = pinned(kSmall);
    gate.close(held);
    EXPECT_EQ(cu("cuEventRecord", marker, held), 0);

    EXPECT_EQ(cu("cuMemFreeHost", host), 0);
    EXPECT_EQ(cu("cuEventDestroy_v2", marker), 0);
    EXPECT_EQ(cu("cuStreamDestroy_v2", held), 0);
    gate.open();
    EXPECT_EQ(cu("cuCtxSynchronize"), 0);
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

// Of its own streams, whatever they do, and of others that touch its memory.
TEST_F(ChaosHolding, FreeingWaitsForAllThatTheGpuHasToDo) {
  for (const bool copies_there : {false, true})
    run(1, [&] {
      Gate gate;
      const DevicePointer unused = filled(kSmall, 1, 1), other = filled(kSmall, 1, 2);
      const DevicePointer from = filled(kSmall, 1, 0), to = filled(kSmall, 1, 1);
      const StreamPointer held = stream_of(copies_there ? 0 : 1);
      gate.close(held);
      if (copies_there) copy(to, from, kSmall, held);

      EXPECT_EQ(cu("cuMemFree_v2", other), 0);
      EXPECT_FALSE(is_done(held));
      gate.open_later();
      EXPECT_EQ(cu("cuMemFree_v2", unused), 0);
      EXPECT_TRUE(gate.is_open());
      return 0;
    });
}

// As seen on H200, driver 580, as are the next two.
TEST_F(ChaosHolding, ACopyBetweenGpusBehindAFunctionHoldsUpOthersBetweenThem) {
  run(1, [&] {
    Gate gate;
    const DevicePointer first = filled(kSmall, 1), second = filled(kSmall, 2, 1);
    const DevicePointer third = filled(kSmall, 3), fourth = filled(kSmall, 4, 1);
    const StreamPointer held = stream(), behind = stream_of(1);
    gate.close(held);
    copy(second, first, kSmall, held);

    copy(third, fourth, kSmall, behind);
    gate.open_later();
    finish(behind);
    EXPECT_TRUE(gate.is_open());
    return 0;
  });
}

TEST_F(ChaosHolding, OtherCopiesGoOnMeanwhile) {
  run(1, [&] {
    Gate gate;
    const DevicePointer first = filled(kSmall, 1), second = filled(kSmall, 2, 1);
    const DevicePointer third = filled(kSmall, 3, 2), fourth = filled(kSmall, 4);
    const StreamPointer held = stream(), beside = stream();
    const void* host = pinned(kSmall);
    gate.close(held);
    copy(second, first, kSmall, held);

    copy(third, first, kSmall, beside);
    copy(fourth, first, kSmall, beside);
    EXPECT_EQ(cu("cuMemcpyHtoDAsync_v2", fourth, host, kSmall, beside), 0);
    finish(beside);
    EXPECT_FALSE(is_done(held));
    gate.open();
    finish(held);
    return 0;
  });
}

TEST_F(ChaosHolding, SynchronisingAContextWaitsForCopiesOfOthersThatTouchItsGpu) {
  run(1, [&] {
    Gate gate;
    const DevicePointer first = filled(kSmall, 1), second = filled(kSmall, 2, 1);
    const StreamPointer held = stream();
    gate.close(held);
    copy(second, first, kSmall, held);

    EXPECT_EQ(cu("cuCtxSetCurrent", context_of(2)), 0);
    EXPECT_EQ(cu("cuCtxSynchronize"), 0);
    use(1);
    gate.open_later();
    EXPECT_EQ(cu("cuCtxSynchronize"), 0);
    EXPECT_TRUE(gate.is_open());
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

TEST_F(ChaosHolding, AValueInMemoryHoldsUntilItIsThere) {
  run(1, [&] {
    auto* flag = reinterpret_cast<std::atomic<unsigned>*>(pinned(kSmall));
    const DevicePointer memory = filled(kSmall, 1);
    const StreamPointer held = stream();
    flag->store(4);
    EXPECT_EQ(wait32(held, flag, 5, 1), 0);
    fill(memory, 2, kSmall, held);

    EXPECT_EQ(contents(memory, 1)[0], 1);
    EXPECT_FALSE(is_done(held));
    flag->store(5);
    finish(held);
    EXPECT_EQ(contents(memory, 1)[0], 2);
    return 0;
  });
}

// GEQ compares around the end of the numbers, AND wants a common bit, NOR a missing one.
TEST_F(ChaosHolding, ValuesAreComparedInAllWays) {
  run(1, [&] {
    auto* word = reinterpret_cast<std::uint64_t*>(pinned(kSmall));
    const auto passes = [&](std::uint64_t found, std::uint64_t wanted, unsigned how) {
      *word = found;
      EXPECT_EQ(cu("cuStreamWaitValue64_v2_ptsz", kLegacy, address(word), wanted, how), 0);
      EXPECT_EQ(cu("cuStreamSynchronize", standin::kPerThreadStream), 0);
    };
    passes(7, 7, 0);
    passes(8, 7, 0);
    passes(1, UINT64_MAX, 0);
    passes(7, 7, 1);
    passes(6, 12, 2);
    passes(6, 8, 3);
    EXPECT_EQ(cu("cuStreamWaitValue64_v2", kLegacy, address(word), std::uint64_t{1}, 4U),
              cuda::kInvalidValue);
    EXPECT_EQ(cu("cuStreamWaitValue64_v2", kLegacy, address(word) + 4, std::uint64_t{1}, 1U),
              cuda::kInvalidValue);
    return 0;
  });
}

TEST_F(ChaosHolding, AWrittenValueLetsAnotherStreamGoOn) {
  run(1, [&] {
    Gate gate;
    const DevicePointer flag = filled(kSmall, 0);
    const StreamPointer writer = stream(), held = stream();
    gate.close(writer);
    EXPECT_EQ(cu("cuStreamWriteValue32_v2", writer, flag, 9U, 0U), 0);
    EXPECT_EQ(cu("cuStreamWaitValue32_v2", held, flag, 9U, 1U), 0);

    EXPECT_FALSE(is_done(held));
    gate.open();
    finish(held);
    EXPECT_EQ(contents(flag, 4), Contents({9, 0, 0, 0}));
    return 0;
  });
}

TEST(ChaosExit, WhoWaitsIsToldThatTheDriverShutsDown) {
  Peer peer({"STANDIN_CHAOS=1"});

  EXPECT_EQ(peer.ask("wait_until_exit"), "error 600");

  EXPECT_EQ(peer.quit(), 0);
  EXPECT_EQ(peer.last_words(), "waited: error 4\n");
}

TEST_F(ChaosHolding, AProgramEndsWhateverIsHeld) {
  run(1, [&] {
    static auto* never = reinterpret_cast<std::atomic<unsigned>*>(pinned(kSmall));
    const StreamPointer held = stream();
    EXPECT_EQ(wait32(held, never, 1, 1), 0);
    std::thread([held] { cu("cuStreamSynchronize", held); }).detach();
    return 0;
  });
}

}  // namespace
}  // namespace polypath::test
