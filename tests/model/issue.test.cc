// When copies are issued, by hand: a copy costs 1 us, a record 2, a wait 3; a graph's launch 5, and
// 1 per node.

#include <gmock/gmock.h>

#include "model/close.h"
#include "model/paths.h"
#include "model/transfer_issue.h"
#include "support/layers.h"

namespace polypath::test::issue_test {
namespace {

using testing::IsEmpty;

testing::AssertionResult are(const std::vector<Seconds>& times,
                             const std::vector<double>& expected) {
  std::vector<double> actual;
  for (const Seconds time : times) actual.push_back(microseconds(time));
  bool same = actual.size() == expected.size();
  for (std::size_t i = 0; same && i < actual.size(); ++i) same = close(actual[i], expected[i]);
  if (same) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << testing::PrintToString(actual) << " instead of " << testing::PrintToString(expected);
}

// The direct path and three chunks through gpu2.
TransferShape two_paths(const Machine& machine, Executor executor) {
  return {executor,
          {shape_over(machine, "direct", 8000_B), shape_over(machine, "gpu2", 1000_B, 3)}};
}

TransferIssue issue_times(const Machine& machine, const TransferShape& transfer, int slots) {
  return TransferIssues(machine).of(transfer, slots);
}

// Fork: record 2. Chunk 0: direct copy 3; wait 6, copy 7, record 9; second: wait 12, copy 13, and
// as chunk 2 uses the slot again, record 15. Chunk 1, in a slot of its own: copy 16, record 18;
// wait 21, copy 22. Chunk 2: wait for the slot 25, copy 26, record 28; wait 31, copy 32. End:
// record 34, two waits 40.
TEST(Issue, StreamsTakeOneCallAfterAnother) {
  const Machine machine = hand_machine();

  const TransferIssue issue = issue_times(machine, two_paths(machine, Executor::stream), 2);

  ASSERT_EQ(issue.paths.size(), 2U);
  EXPECT_TRUE(are(issue.paths[0].first, {3}));
  EXPECT_THAT(issue.paths[0].second, IsEmpty());
  EXPECT_TRUE(are(issue.paths[1].first, {7, 16, 26}));
  EXPECT_TRUE(are(issue.paths[1].second, {13, 22, 32}));
  EXPECT_TRUE(close(issue.done, 40_us));
}

// Without reuse: no record after 13, so all later ones are 2 us earlier, and no wait for a slot.
TEST(Issue, EnoughSlotsNeedNoWaits) {
  const Machine machine = hand_machine();

  const TransferIssue issue = issue_times(machine, two_paths(machine, Executor::stream), 3);

  EXPECT_TRUE(are(issue.paths[1].first, {7, 14, 21}));
  EXPECT_TRUE(are(issue.paths[1].second, {13, 20, 27}));
  EXPECT_TRUE(close(issue.done, 35_us));
}

// Ring: wait 3, launch 8. Nodes: direct 9, chunk 0 at 10 and 11, chunk 1 at 12 and 13, chunk 2 at
// 14 and 15. Ring: record 17, wait 20.
TEST(Issue, AGraphsNodesStartOneAfterAnother) {
  const Machine machine = hand_machine();

  const TransferIssue issue = issue_times(machine, two_paths(machine, Executor::graph), 2);

  EXPECT_TRUE(are(issue.paths[0].first, {9}));
  EXPECT_THAT(issue.paths[0].second, IsEmpty());
  EXPECT_TRUE(are(issue.paths[1].first, {10, 12, 14}));
  EXPECT_TRUE(are(issue.paths[1].second, {11, 13, 15}));
  EXPECT_TRUE(close(issue.done, 20_us));
}

// A copy from gpu0 to gpu2, and one from there to gpu1.
Program through_scratch(const Machine& machine, bool kept) {
  const auto hop = [&](const char* from, const char* to) {
    return *machine.find_hop(machine.find_place(from), machine.find_place(to));
  };
  const HopId first = hop("gpu0", "gpu2"), second = hop("gpu2", "gpu1");
  Program program;
  for (const char* place : {"gpu0", "gpu1"}) program.add(ProgramBuffer{machine.find_place(place)});
  const int slot = program.add(ProgramBuffer{
      .place = machine.find_place("gpu2"), .filled_over = first, .slot = 0, .kept = kept});
  const int filling = program.add(queue_of(machine, first));
  const int emptying = program.add(queue_of(machine, second));
  const int filled = program.add(Node{.hop = first,
                                      .source = {0, {}},
                                      .destination = {slot, {}},
                                      .bytes = 8_B,
                                      .queue = filling},
                                 {});
  program.add(Node{.hop = second,
                   .source = {slot, {}},
                   .destination = {1, {}},
                   .bytes = 8_B,
                   .queue = emptying},
              {filled});
  program.assign_events();
  return program;
}

// Launch 5, nodes at 6 and 7; a ring that is shared takes a wait before, and a record and a wait
// behind.
TEST(Issue, AGraphDoesNotWaitForRingsThatAreKept) {
  const Machine machine = hand_machine();

  const auto done = [&](bool kept) {
    return model::issue_times(machine, through_scratch(machine, kept), Executor::graph).done;
  };

  EXPECT_TRUE(close(done(true), 7_us));
  EXPECT_TRUE(close(done(false), 15_us));
}

// The ring's next use waits for the end of the queue that reads it.
TEST(Issue, StreamsDoNotWaitForRingsThatAreKept) {
  const Machine machine = hand_machine();

  const auto done = [&](bool kept) {
    return model::issue_times(machine, through_scratch(machine, kept), Executor::stream).done;
  };

  EXPECT_TRUE(close(done(false) - done(true), 3_us));
}

// Two staged paths of one chunk. Streams: fork 2; wait 5, copy 6, record 8; wait 11, copy 12,
// record 14; seconds: wait 17, copy 18; wait 21, copy 22; ends 2·8 later. Graph: two waits 6,
// launch 11, nodes 12 to 15, and 2·5.
TEST(Issue, FirstCopiesOfAllPathsComeBeforeTheirSecondOnes) {
  const Machine machine = hand_machine();
  TransferShape transfer{
      Executor::stream,
      {shape_over(machine, "gpu2", 1000_B), shape_over(machine, "host0", 1000_B)}};

  const TransferIssue streams = issue_times(machine, transfer, 2);
  transfer.executor = Executor::graph;
  const TransferIssue graph = issue_times(machine, transfer, 2);

  EXPECT_TRUE(are(streams.paths[0].first, {6}));
  EXPECT_TRUE(are(streams.paths[1].first, {12}));
  EXPECT_TRUE(are(streams.paths[0].second, {18}));
  EXPECT_TRUE(are(streams.paths[1].second, {22}));
  EXPECT_TRUE(close(streams.done, 38_us));
  EXPECT_TRUE(are(graph.paths[0].first, {12}));
  EXPECT_TRUE(are(graph.paths[1].first, {13}));
  EXPECT_TRUE(are(graph.paths[0].second, {14}));
  EXPECT_TRUE(are(graph.paths[1].second, {15}));
  EXPECT_TRUE(close(graph.done, 25_us));
}

// One call, copy 1; nothing to fork from or to join.
TEST(Issue, ALoneDirectCopyIsOneCall) {
  const Machine machine = hand_machine();
  for (const Executor executor : {Executor::native, Executor::stream}) {
    const TransferShape transfer{executor, {shape_over(machine, "direct", 8000_B)}};

    const TransferIssue issue = issue_times(machine, transfer, 4);

    EXPECT_TRUE(are(issue.paths[0].first, {1}));
    EXPECT_TRUE(close(issue.done, 1_us));
  }
}

// Sizes do not matter; the number of chunks, the executor and the slots do.
TEST(Issue, IsRememberedByWhatItDependsOn) {
  const Machine machine = hand_machine();
  TransferIssues issues(machine);
  const auto done = [&](std::size_t chunks, Bytes size, Executor executor, int slots) {
    return issues.of({executor, {shape_over(machine, "gpu2", size, chunks)}}, slots).done;
  };
  const Seconds first = done(3, 1000_B, Executor::stream, 2);

  EXPECT_EQ(done(3, 7_B, Executor::stream, 2), first);
  EXPECT_NE(done(4, 1000_B, Executor::stream, 2), first);
  EXPECT_NE(done(3, 1000_B, Executor::graph, 2), first);
  EXPECT_NE(done(3, 1000_B, Executor::stream, 3), first);
  EXPECT_EQ(done(3, 1000_B, Executor::stream, 2), first);
}

}  // namespace
}  // namespace polypath::test::issue_test
