// When calls that copy from and to the host return (CUDA's "API synchronization behavior").

#include <algorithm>

#include "chaos/chaotic_program.h"
#include "support/layers.h"

namespace polypath::test::pageable_test {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{64} << 10;  // bytes

class ChaosPageable : public Chaos {
 protected:
  static Result in(DevicePointer to, const void* from, std::size_t bytes, StreamPointer queue) {
    return cu("cuMemcpyHtoDAsync_v2", to, from, bytes, queue);
  }
  static Result out(void* to, DevicePointer from, std::size_t bytes, StreamPointer queue) {
    return cu("cuMemcpyDtoHAsync_v2", to, from, bytes, queue);
  }
};

TEST_F(ChaosPageable, ASmallCopyIntoAGpuReadsItsSourceAndWaitsForNothing) {
  run(1, [&] {
    Gate gate;
    const DevicePointer memory = filled(kReadAtOnce, 1);
    const StreamPointer held = stream();
    Contents source(kReadAtOnce, 2);
    gate.close(held);
    EXPECT_EQ(in(memory, source.data(), source.size(), held), 0);
    std::fill(source.begin(), source.end(), 3);

    EXPECT_EQ(contents(memory, 1)[0], 1);
    gate.open();
    finish(held);
    EXPECT_EQ(contents(memory, kReadAtOnce), Contents(kReadAtOnce, 2));
    return 0;
  });
}

TEST_F(ChaosPageable, ALargerOneWaitsForItsStream) {
  run(1, [&] {
    Gate gate;
    const DevicePointer memory = filled(kReadAtOnce + 1, 1);
    const StreamPointer held = stream();
    Contents source(kReadAtOnce + 1, 2);
    gate.close(held);

    gate.open_later();
    EXPECT_EQ(in(memory, source.data(), source.size(), held), 0);
    EXPECT_TRUE(gate.is_open());
    std::fill(source.begin(), source.end(), 3);
    finish(held);
    EXPECT_EQ(contents(memory, source.size()), Contents(source.size(), 2));
    return 0;
  });
}

TEST_F(ChaosPageable, WhatWasReadMayNotHaveArrived) {
  const auto others_see = [&](bool synchronous) {
    const DevicePointer memory = filled(kPieces, 1);
    const Contents source(kPieces, 2);
    const void* from = source.data();
    if (synchronous) EXPECT_EQ(cu("cuMemcpyHtoD_v2", memory, from, kPieces), 0);
    else EXPECT_EQ(in(memory, from, kPieces, stream()), 0);
    return contents(memory, kPieces) == source ? 1 : 0;
  };

  EXPECT_TRUE(happens(0, [&] { return others_see(false); }));
  EXPECT_TRUE(happens(0, [&] { return others_see(true); }));
}

TEST_F(ChaosPageable, ACopyOutOfAGpuReturnsWithEveryByte) {
  EXPECT_TRUE(always(1, [&] {
    const DevicePointer memory = filled(kPieces, 1);
    const StreamPointer queue = stream();
    Contents got(kPieces);
    fill(memory, 2, kPieces, queue);
    EXPECT_EQ(out(got.data(), memory, kPieces, queue), 0);
    return got == Contents(kPieces, 2) ? 1 : 0;
  }));
}

// In a blocking stream, after work in the legacy one.
TEST_F(ChaosPageable, ItWaitsForTheLegacyStreamWhereItsStreamIsInOrderWithIt) {
  EXPECT_TRUE(always(1, [&] {
    const DevicePointer memory = filled(kPieces, 1);
    const StreamPointer blocking = stream(0);
    Contents got(kPieces);
    fill(memory, 2, kPieces, nullptr);
    EXPECT_EQ(out(got.data(), memory, kPieces, blocking), 0);
    return got == Contents(kPieces, 2) ? 1 : 0;
  }));
}

TEST_F(ChaosPageable, PinnedMemoryIsReadAndWrittenAfterTheCallReturned) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the race that it is about is found by the sanitizer, as it should";
#endif
  EXPECT_TRUE(happens(0, [&] {
    const DevicePointer memory = filled(kPieces, 1);
    const StreamPointer queue = stream();
    unsigned char* host = pinned(kPieces);
    std::fill_n(host, kPieces, 2);
    EXPECT_EQ(in(memory, host, kPieces, queue), 0);
    std::fill_n(host, kPieces, 3);
    finish(queue);
    return contents(memory, kPieces) == Contents(kPieces, 2) ? 1 : 0;
  }));
  EXPECT_TRUE(happens(0, [&] {
    const DevicePointer memory = filled(kPieces, 1);
    const StreamPointer queue = stream();
    unsigned char* host = pinned(kPieces);
    EXPECT_EQ(out(host, memory, kPieces, queue), 0);
    const bool there = std::count(host, host + kPieces, 1) == kPieces;
    finish(queue);
    return there ? 1 : 0;
  }));
}

TEST_F(ChaosPageable, SynchronousCopiesOfPinnedMemoryWait) {
  EXPECT_TRUE(always(1, [&] {
    const DevicePointer memory = filled(kPieces, 1);
    unsigned char* host = pinned(kPieces);
    const void* from = host;
    void* to = host;
    std::fill_n(host, kPieces, 2);
    EXPECT_EQ(cu("cuMemcpyHtoD_v2", memory, from, kPieces), 0);
    const bool in = contents(memory, kPieces) == Contents(kPieces, 2);
    fill(memory, 3, kPieces, nullptr);
    EXPECT_EQ(cu("cuMemcpyDtoH_v2", to, memory, kPieces), 0);
    return in && std::count(host, host + kPieces, 3) == kPieces ? 1 : 0;
  }));
}

TEST_F(ChaosPageable, CopiesBetweenGpusNeverWait) {
  run(1, [&] {
    Gate gate;
    const DevicePointer from = filled(kSmall, 1), to = filled(kSmall, 2, 1);
    gate.close(nullptr);

    EXPECT_EQ(cu("cuMemcpyDtoD_v2", to, from, kSmall), 0);
    EXPECT_EQ(cu("cuMemsetD8_v2", from, static_cast<unsigned char>(3), kSmall), 0);
    EXPECT_EQ(contents(to, 1)[0], 2);
    gate.open();
    finish(nullptr);
    EXPECT_EQ(contents(to, 1)[0], 1);
    return 0;
  });
}

}  // namespace
}  // namespace polypath::test::pageable_test
