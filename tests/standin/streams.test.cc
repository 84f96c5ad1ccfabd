// Streams, events, default streams, host functions.

#include <chrono>
#include <thread>

#include "standin/program.h"

namespace polypath::test {
namespace {

class StandInStreams : public StandIn {
 protected:
  void copy(DevicePointer to, DevicePointer from, std::size_t bytes, StreamPointer queue) {
    ASSERT_EQ(cu("cuMemcpyDtoDAsync_v2", to, from, bytes, queue), 0);
  }
};

TEST_F(StandInStreams, CopiesRunWhileTheProgramGoesOn) {
  const DevicePointer from = device(kLarge), to = device(kLarge, 1);
  const StreamPointer queue = stream();
  const EventPointer copied = event();

  EXPECT_EQ(cu("cuEventQuery", copied), 0);
  copy(to, from, kLarge, queue);
  ASSERT_EQ(cu("cuEventRecord", copied, queue), 0);

  EXPECT_EQ(cu("cuEventQuery", copied), cuda::kNotReady);
  EXPECT_EQ(cu("cuStreamQuery", queue), cuda::kNotReady);
  EXPECT_EQ(cu("cuEventSynchronize", copied), 0);
  EXPECT_EQ(cu("cuEventQuery", copied), 0);
  EXPECT_EQ(cu("cuStreamQuery", queue), 0);
}

// 256 MiB take 683 us of virtual time; a question alone lets 0.25 us of it pass.
TEST_F(StandInStreams, WhoAsksAgainAndAgainIsAnsweredSoon) {
  constexpr std::size_t kHuge = std::size_t{256} << 20;
  const DevicePointer from = device(kHuge), to = device(kHuge, 1);
  const StreamPointer queue = stream();
  const EventPointer copied = event();
  copy(to, from, kHuge, queue);
  ASSERT_EQ(cu("cuEventRecord", copied, queue), 0);

  int questions = 1;
  while (cu("cuEventQuery", copied) == cuda::kNotReady) ++questions;

  EXPECT_GT(questions, 10);
  EXPECT_LT(questions, 150);
}

TEST_F(StandInStreams, EventsOrderStreamsOfTwoGpus) {
  const Contents sent = pattern(kLarge, 1);
  const DevicePointer first = device(sent), second = device(kLarge, 1), third = device(kLarge);
  const StreamPointer writer = stream();
  const EventPointer written = event();
  use(1);
  const StreamPointer reader = stream();
  use(0);

  copy(second, first, kLarge, writer);
  ASSERT_EQ(cu("cuEventRecord", written, writer), 0);
  ASSERT_EQ(cu("cuStreamWaitEvent", reader, written, 0U), 0);
  copy(third, second, kLarge, reader);
  ASSERT_EQ(cu("cuStreamSynchronize", reader), 0);

  EXPECT_TRUE(same_bytes(read(third, kLarge), sent));
}

TEST_F(StandInStreams, AnEventIsRecordedInItsOwnContext) {
  const EventPointer own = event();
  use(1);
  const StreamPointer elsewhere = stream();

  EXPECT_EQ(cu("cuEventRecord", own, elsewhere), standin::kInvalidHandle);
}

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

TEST_F(StandInStreams, AStreamKnowsItsContext) {
  const StreamPointer queue = stream();
  ContextPointer context = nullptr;
  use(1);

  EXPECT_EQ(cu("cuStreamGetCtx", queue, &context), 0);
  EXPECT_EQ(context, contexts_[0]);
  EXPECT_EQ(cu("cuStreamGetCtx", StreamPointer{}, &context), 0);
  EXPECT_EQ(context, contexts_[1]);
}

TEST_F(StandInStreams, DestroyedHandlesAreFoundOut) {
  const StreamPointer queue = stream();
  const EventPointer marker = event();
  ASSERT_EQ(cu("cuStreamDestroy_v2", queue), 0);
  ASSERT_EQ(cu("cuEventDestroy_v2", marker), 0);

  EXPECT_EQ(cu("cuStreamSynchronize", queue), standin::kInvalidHandle);
  EXPECT_EQ(cu("cuEventQuery", marker), standin::kInvalidHandle);
  EXPECT_EQ(cu("cuStreamDestroy_v2", queue), standin::kInvalidHandle);
}

struct Seen {
  StandIn* test;
  const unsigned char* memory;
  int calls = 0;
  unsigned char value = 0;
  std::thread::id thread;
};

TEST_F(StandInStreams, HostFunctionsRunInOrderOnAnotherThread) {
  unsigned char* host = pinned(kSmall);
  const DevicePointer memory = device(Contents(kSmall, 5));
  const StreamPointer queue = stream();
  Seen seen{this, host, 0, 0, {}};
  void* data = &seen;
  void (*function)(void*) = [](void* given) {
    auto* where = static_cast<Seen*>(given);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    where->value = where->memory[0];
    where->thread = std::this_thread::get_id();
    ++where->calls;
  };
  void* out = host;

  ASSERT_EQ(cu("cuMemcpyDtoHAsync_v2", out, memory, kSmall, queue), 0);
  ASSERT_EQ(cu("cuLaunchHostFunc", queue, function, data), 0);
  ASSERT_EQ(cu("cuStreamSynchronize", queue), 0);

  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(seen.value, 5);
  EXPECT_NE(seen.thread, std::this_thread::get_id());
}

TEST_F(StandInStreams, CallbacksAreToldTheirStream) {
  const StreamPointer queue = stream();
  StreamPointer told = nullptr;
  void* data = &told;
  void (*callback)(StreamPointer, Result, void*) = [](StreamPointer given, Result, void* where) {
    *static_cast<StreamPointer*>(where) = given;
  };

  ASSERT_EQ(cu("cuStreamAddCallback", queue, callback, data, 0U), 0);
  ASSERT_EQ(cu("cuStreamSynchronize", queue), 0);

  EXPECT_EQ(told, queue);
}

// 8 MiB at 393 GB/s, and 3.3 us of latency.
TEST_F(StandInStreams, EventsMeasureVirtualTime) {
  const DevicePointer from = device(kLarge), to = device(kLarge, 1);
  const StreamPointer queue = stream();
  const EventPointer begin = event(), end = event();
  float milliseconds = 0;

  ASSERT_EQ(cu("cuEventRecord", begin, queue), 0);
  copy(to, from, kLarge, queue);
  ASSERT_EQ(cu("cuEventRecord", end, queue), 0);
  EXPECT_EQ(cu("cuEventElapsedTime", &milliseconds, begin, end), cuda::kNotReady);
  ASSERT_EQ(cu("cuStreamSynchronize", queue), 0);
  ASSERT_EQ(cu("cuEventElapsedTime", &milliseconds, begin, end), 0);

  EXPECT_NEAR(milliseconds * 1e3, static_cast<double>(kLarge) / 393e3 + 3.3, 3);
}

}  // namespace
}  // namespace polypath::test
