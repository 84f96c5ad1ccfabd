// The default streams: the legacy one, what it is in order with, and that of each thread.

#include <thread>

#include "standin/stream_program.h"
#include "support/layers.h"

namespace polypath::test::default_streams_test {
namespace {

// The race detector of the simulated driver makes this fail where the order is missing.
TEST_F(StandInStreams, TheLegacyStreamIsInOrderWithBlockingOnes) {
  const Contents sent = pattern(kLarge, 1);
  const DevicePointer first = device(sent), second = device(kLarge, 1), third = device(kLarge);
  const StreamPointer blocking = stream(0), legacy = nullptr;
  const DevicePointer fourth = device(kLarge, 1);

  copy(second, first, kLarge, blocking);
  copy(third, second, kLarge, legacy);
  copy(fourth, third, kLarge, blocking);
  ASSERT_EQ(cu("cuStreamSynchronize", blocking), 0);

  EXPECT_TRUE(same_bytes(read(fourth, kLarge), sent));
}

TEST_F(StandInStreams, TheLegacyStreamDoesNotWaitForNonBlockingOnes) {
  const DevicePointer from = device(kLarge), to = device(kLarge, 1);
  const StreamPointer queue = stream(), legacy = nullptr;

  copy(to, from, kLarge, queue);

  EXPECT_EQ(cu("cuStreamQuery", legacy), 0);
  EXPECT_EQ(cu("cuStreamQuery", queue), cuda::kNotReady);
}

// As seen on H200, driver 580: only what is in an empty blocking stream already makes it wait.
TEST_F(StandInStreams, AnEmptyBlockingStreamDoesNotWaitForTheLegacyOneButItsEventsDo) {
  const DevicePointer from = device(kLarge), to = device(kLarge, 1);
  const StreamPointer blocking = stream(0), legacy = nullptr;
  const EventPointer marker = event();

  copy(to, from, kLarge, legacy);
  EXPECT_EQ(cu("cuStreamQuery", blocking), 0);
  EXPECT_EQ(cu("cuStreamSynchronize", blocking), 0);
  EXPECT_EQ(cu("cuStreamQuery", legacy), cuda::kNotReady);
  ASSERT_EQ(cu("cuEventRecord", marker, blocking), 0);
  EXPECT_EQ(cu("cuEventQuery", marker), cuda::kNotReady);
  EXPECT_EQ(cu("cuStreamQuery", blocking), cuda::kNotReady);
  ASSERT_EQ(cu("cuEventSynchronize", marker), 0);

  EXPECT_EQ(cu("cuStreamQuery", legacy), 0);
}

TEST_F(StandInStreams, SynchronisingTheLegacyStreamWaitsForBlockingOnes) {
  const DevicePointer from = device(kLarge), to = device(kLarge, 1);
  const StreamPointer blocking = stream(0), legacy = nullptr;

  copy(to, from, kLarge, blocking);
  EXPECT_EQ(cu("cuStreamQuery", legacy), cuda::kNotReady);
  ASSERT_EQ(cu("cuStreamSynchronize", legacy), 0);

  EXPECT_EQ(cu("cuStreamQuery", blocking), 0);
}

TEST_F(StandInStreams, EveryThreadHasADefaultStreamOfItsOwn) {
  unsigned long long here = 0, again = 0, there = 0, legacy = 0;
  const StreamPointer none = nullptr;

  EXPECT_EQ(cu("cuStreamGetId_ptsz", none, &here), 0);
  EXPECT_EQ(cu("cuStreamGetId", standin::kPerThreadStream, &again), 0);
  EXPECT_EQ(cu("cuStreamGetId", none, &legacy), 0);
  std::thread([&] {
    cu("cuCtxSetCurrent", contexts_[0]);
    EXPECT_EQ(cu("cuStreamGetId_ptsz", none, &there), 0);
  }).join();

  EXPECT_EQ(here, again);
  EXPECT_NE(here, there);
  EXPECT_NE(here, legacy);
}

}  // namespace
}  // namespace polypath::test::default_streams_test
