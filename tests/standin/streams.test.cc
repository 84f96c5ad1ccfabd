// Streams and events.

#include "standin/stream_program.h"
#include "support/layers.h"

namespace polypath::test::streams_test {
namespace {

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
}  // namespace polypath::test::streams_test
