// Values in memory that hold streams, and ends of programs in which they never come.

#include <thread>

#include "chaos/chaotic_program.h"
#include "standin/peer.h"
#include "support/layers.h"

namespace polypath::test::values_test {
namespace {

using ChaosHolding = Chaos;

constexpr StreamPointer kLegacy = nullptr;

Result wait32(StreamPointer queue, const void* where, unsigned value, unsigned how) {
  const DevicePointer word = reinterpret_cast<std::uintptr_t>(where);
  return cu("cuStreamWaitValue32_v2", queue, word, value, how);
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

// As the parts of ranks in a graph.
TEST_F(ChaosHolding, ValuesMayBeCaptured) {
  EXPECT_TRUE(always(0, [&] {
    const DevicePointer flag = filled(kSmall, 0), from = filled(kPieces, 5),
                        to = filled(kPieces, 0);
    const StreamPointer queue = stream(), other = stream();
    cuda::GraphPointer graph = nullptr;
    cuda::GraphExecPointer executable = nullptr;
    EXPECT_EQ(cu("cuStreamBeginCapture_v2", queue, 2), 0);
    EXPECT_EQ(cu("cuStreamWaitValue32_v2", queue, flag, 9U, 1U), 0);
    copy(to, from, kPieces, queue);
    EXPECT_EQ(cu("cuStreamWriteValue32_v2", queue, flag, 4U, 0U), 0);
    EXPECT_EQ(cu("cuStreamEndCapture", queue, &graph), 0);
    EXPECT_EQ(cu("cuGraphInstantiateWithFlags", &executable, graph, 0ULL), 0);

    EXPECT_EQ(cu("cuGraphLaunch", executable, queue), 0);
    EXPECT_EQ(all_are(to, 0), 1);
    EXPECT_EQ(cu("cuStreamWriteValue32_v2", other, flag, 9U, 0U), 0);
    finish(queue);

    EXPECT_EQ(all_are(to, 5), 1);
    EXPECT_EQ(contents(flag, 4), Contents({4, 0, 0, 0}));
    return 0;
  }));
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
}  // namespace polypath::test::values_test
