// Graphs made by capture: what is written down, and what spoils a capture.

#include "standin/graph_program.h"
#include "support/layers.h"

namespace polypath::test::captures_test {
namespace {

TEST_F(StandInGraphs, ACaptureWritesDownAndRunsNothing) {
  const Contents sent = pattern(kSmall, 1);
  const DevicePointer from = device(sent), to = device(Contents(kSmall), 1);
  const StreamPointer queue = stream();
  GraphPointer graph = nullptr;

  EXPECT_EQ(status(queue), 0);
  ASSERT_EQ(begin(queue), 0);
  EXPECT_EQ(status(queue), 1);
  ASSERT_EQ(cu("cuMemcpyAsync", to, from, kSmall, queue), 0);
  ASSERT_EQ(end(queue, &graph), 0);
  EXPECT_EQ(status(queue), 0);
  EXPECT_TRUE(same_bytes(read(to, kSmall), Contents(kSmall)));
  const GraphExecPointer executable = instantiate(graph);
  launch(executable, queue);

  EXPECT_TRUE(same_bytes(read(to, kSmall), sent));
}

// The second stream takes part from its wait on, and its copy comes after the first one's.
TEST_F(StandInGraphs, EventsLeadACaptureIntoOtherStreamsAndBack) {
  const Contents sent = pattern(kLarge, 1);
  const DevicePointer first = device(sent), second = device(kLarge, 1), third = device(kLarge);
  const StreamPointer origin = stream(), branch = stream();
  const EventPointer fork = event(), join = event();
  GraphPointer graph = nullptr;
  std::size_t nodes = 0;

  ASSERT_EQ(begin(origin), 0);
  ASSERT_EQ(cu("cuMemcpyAsync", second, first, kLarge, origin), 0);
  ASSERT_EQ(cu("cuEventRecord", fork, origin), 0);
  ASSERT_EQ(cu("cuStreamWaitEvent", branch, fork, 0U), 0);
  EXPECT_EQ(status(branch), 1);
  ASSERT_EQ(cu("cuMemcpyAsync", third, second, kLarge, branch), 0);
  ASSERT_EQ(cu("cuEventRecord", join, branch), 0);
  ASSERT_EQ(cu("cuStreamWaitEvent", origin, join, 0U), 0);
  ASSERT_EQ(end(origin, &graph), 0);
  EXPECT_EQ(status(branch), 0);
  ASSERT_EQ(cu("cuGraphGetNodes", graph, static_cast<GraphNodePointer*>(nullptr), &nodes), 0);
  EXPECT_EQ(nodes, 2U);
  launch(instantiate(graph), origin);

  EXPECT_TRUE(same_bytes(read(third, kLarge), sent));
}

TEST_F(StandInGraphs, ABranchThatDoesNotComeBackSpoilsTheCapture) {
  const DevicePointer from = device(kSmall), to = device(kSmall, 1);
  const StreamPointer origin = stream(), branch = stream();
  const EventPointer fork = event();
  GraphPointer graph = nullptr;

  ASSERT_EQ(begin(origin), 0);
  ASSERT_EQ(cu("cuEventRecord", fork, origin), 0);
  ASSERT_EQ(cu("cuStreamWaitEvent", branch, fork, 0U), 0);
  ASSERT_EQ(cu("cuMemcpyAsync", to, from, kSmall, branch), 0);

  EXPECT_EQ(end(origin, &graph), standin::kCaptureUnjoined);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(status(origin), 0);
}

TEST_F(StandInGraphs, WaitingForACapturedStreamSpoilsTheCapture) {
  const StreamPointer queue = stream();
  GraphPointer graph = nullptr;

  ASSERT_EQ(begin(queue, kRelaxed), 0);
  EXPECT_EQ(cu("cuStreamSynchronize", queue), standin::kCaptureUnsupported);
  EXPECT_EQ(end(queue, &graph), standin::kCaptureInvalidated);
}

TEST_F(StandInGraphs, ACapturedEventCannotBeWaitedFor) {
  const StreamPointer queue = stream(), other = stream();
  const EventPointer captured = event(), ordinary = event();
  GraphPointer graph = nullptr;
  ASSERT_EQ(cu("cuEventRecord", ordinary, other), 0);

  ASSERT_EQ(begin(queue, kRelaxed), 0);
  ASSERT_EQ(cu("cuEventRecord", captured, queue), 0);
  EXPECT_EQ(cu("cuEventQuery", captured), standin::kCapturedEvent);
  EXPECT_EQ(cu("cuStreamWaitEvent", queue, ordinary, 0U), standin::kCaptureIsolation);
  EXPECT_EQ(end(queue, &graph), standin::kCaptureInvalidated);
}

// A thread that has not said that it is relaxed may not allocate while anybody captures globally.
TEST_F(StandInGraphs, UnsafeCallsSpoilAGlobalCaptureUnlessRelaxed) {
  const StreamPointer queue = stream();
  GraphPointer graph = nullptr;
  DevicePointer memory = 0;

  ASSERT_EQ(begin(queue, kGlobal), 0);
  relaxed([&] { EXPECT_EQ(cu("cuMemAlloc_v2", &memory, kSmall), 0); });
  ASSERT_EQ(end(queue, &graph), 0);

  ASSERT_EQ(begin(queue, kGlobal), 0);
  EXPECT_EQ(cu("cuMemAlloc_v2", &memory, kSmall), standin::kCaptureUnsupported);
  EXPECT_EQ(end(queue, &graph), standin::kCaptureInvalidated);
}

// As two H200s with driver 580 do it (results/h200x2/capture.json).
TEST_F(StandInGraphs, AskingACapturedStreamForItsFlagsSpoilsTheCapture) {
  const StreamPointer queue = stream();
  GraphPointer graph = nullptr;
  unsigned flags = 0;

  ASSERT_EQ(begin(queue, kGlobal), 0);
  relaxed([&] { EXPECT_EQ(cu("cuStreamGetFlags", queue, &flags), standin::kCaptureUnsupported); });

  EXPECT_EQ(end(queue, &graph), standin::kCaptureInvalidated);
}

TEST_F(StandInGraphs, TheLegacyStreamMayNotBeUsedBesideACapture) {
  const StreamPointer queue = stream(0), legacy = nullptr;
  const DevicePointer from = device(kSmall), to = device(kSmall, 1);
  GraphPointer graph = nullptr;
  int captured = -1;

  ASSERT_EQ(begin(queue, kRelaxed), 0);
  EXPECT_EQ(cu("cuStreamIsCapturing", legacy, &captured), cuda::kStreamCaptureImplicit);
  EXPECT_EQ(cu("cuMemcpyAsync", to, from, kSmall, legacy), cuda::kStreamCaptureImplicit);
  EXPECT_EQ(end(queue, &graph), standin::kCaptureInvalidated);
}

}  // namespace
}  // namespace polypath::test::captures_test
