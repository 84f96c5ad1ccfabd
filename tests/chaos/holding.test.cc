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

class ChaosPeers : public ChaosHolding {
 protected:
  // Runs the program without peer access and with it. What comes behind a gate in the stream of
  // GPU 0 is a copy to GPU 1; 0: beside it things go on, 1: they wait for the gate.
  int beside(bool access, const std::function<void()>& go_on) {
    return run(1, [&] {
      Gate gate;
      const DevicePointer from = filled(kSmall, 1), to = filled(kSmall, 2, 1);
      if (access) EXPECT_EQ(cu("cuCtxEnablePeerAccess", contexts_[1], 0U), 0);
      const StreamPointer held = stream();
      gate.close(held);
      copy(to, from, kSmall, held);
      gate.open_later();
      go_on();
      const bool waited = gate.is_open();
      finish(held);
      return waited ? 1 : 0;
    });
  }
  void copy_between(int issuer) {
    const DevicePointer there = filled(kSmall, 3, 1), here = filled(kSmall, 4);
    const StreamPointer own = stream_of(issuer);
    copy(here, there, kSmall, own);
    finish(own);
  }
};

TEST_F(ChaosPeers, WithoutAccessAHeldCopyHoldsUpOthersOfItsGpuBetweenTheTwo) {
  EXPECT_EQ(beside(false, [&] { copy_between(0); }), 1);
  EXPECT_EQ(beside(false, [&] { copy_between(1); }), 0);
  EXPECT_EQ(beside(true, [&] { copy_between(0); }), 0);
}

TEST_F(ChaosPeers, WithoutAccessThePeersContextWaitsForIt) {
  const auto synchronise = [&] {
    use(1);
    EXPECT_EQ(cu("cuCtxSynchronize"), 0);
  };
  EXPECT_EQ(beside(false, synchronise), 1);
  EXPECT_EQ(beside(true, synchronise), 0);
}

TEST_F(ChaosPeers, WithoutAccessFreeingThePeersMemoryWaitsForIt) {
  const auto give_back = [&] { EXPECT_EQ(cu("cuMemFree_v2", filled(kSmall, 5, 1)), 0); };
  EXPECT_EQ(beside(false, give_back), 1);
  EXPECT_EQ(beside(true, give_back), 0);
}

TEST_F(ChaosPeers, OtherCopiesGoOn) {
  EXPECT_EQ(beside(false,
                   [&] {
                     const DevicePointer third = filled(kSmall, 3, 2), own = filled(kSmall, 4);
                     const StreamPointer other = stream();
                     const void* host = pinned(kSmall);
                     copy(third, own, kSmall, other);
                     copy(own, filled(kSmall, 5), kSmall, other);
                     EXPECT_EQ(cu("cuMemcpyHtoDAsync_v2", own, host, kSmall, other), 0);
                     finish(other);
                   }),
            0);
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
