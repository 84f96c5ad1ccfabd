// The race report: what no chain of stream order and events puts in order is found, whatever the
// timing; what is ordered is not reported.

#include <gmock/gmock.h>

#include "core/error.h"
#include "driver/hand_driver.h"

namespace polypath::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Bytes go from `source` to `middle` on one stream and from `middle` to `destination` on another;
// the tests order the two, or do not.
class Races : public HandDriver {
 protected:
  void first() { copy(middle_, source_, 8000, writer_); }
  void second() { copy(destination_, middle_, 8000, reader_); }
  // Lets far more time pass than any copy here takes, without a look at the writer's stream.
  void let_time_pass() {
    copy(memory(gpu(1), 1 << 20), memory(gpu(0), 1 << 20), 1 << 20, idle_);
    driver_.synchronize(idle_);
  }
  auto one_race() {
    return ElementsAre(AllOf(HasSubstr("race: "), HasSubstr("8000 bytes from gpu0 to gpu1"),
                             HasSubstr("(writes)"), HasSubstr("8000 bytes from gpu1 to gpu2"),
                             HasSubstr("(reads)"), HasSubstr("nothing orders them")));
  }

  StreamHandle writer_ = driver_.create_stream(gpu(0));
  StreamHandle reader_ = driver_.create_stream(gpu(1));
  StreamHandle idle_ = driver_.create_stream(gpu(0));
  EventHandle written_ = driver_.create_event(gpu(0));
  Address source_ = memory(gpu(0), 8000);
  Address middle_ = memory(gpu(1), 8000);
  Address destination_ = memory(gpu(2), 8000);
};

TEST_F(Races, AMissingDependencyIsReported) {
  first();
  second();

  EXPECT_THAT(driver_.violations(), one_race());
}

TEST_F(Races, AMissingDependencyIsReportedEvenWhenTheTimingHidesIt) {
  const Contents sent = pattern(8000, 1);
  write(source_, sent);

  first();
  let_time_pass();
  second();
  driver_.synchronize(reader_);

  EXPECT_TRUE(same_bytes(read(destination_, 8000), sent));
  EXPECT_THAT(driver_.violations(), one_race());
}

TEST_F(Races, TheOrderOfTheCallsDoesNotCount) {
  second();
  first();

  EXPECT_EQ(driver_.violations().size(), 1U);
}

TEST_F(Races, AnEventOrders) {
  first();
  driver_.record(written_, writer_);
  driver_.wait(reader_, written_);
  second();

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(Races, AnEventRecordedTooEarlyDoesNotOrder) {
  driver_.record(written_, writer_);
  first();
  driver_.wait(reader_, written_);
  second();

  EXPECT_THAT(driver_.violations(), one_race());
}

TEST_F(Races, AWaitThatComesTooLateDoesNotOrder) {
  first();
  driver_.record(written_, writer_);
  second();
  driver_.wait(reader_, written_);

  EXPECT_THAT(driver_.violations(), one_race());
}

TEST_F(Races, AWaitOnAnotherStreamDoesNotOrder) {
  first();
  driver_.record(written_, writer_);
  driver_.wait(idle_, written_);
  second();

  EXPECT_THAT(driver_.violations(), one_race());
}

TEST_F(Races, AnEventRecordedAgainElsewhereNoLongerStandsForTheFirst) {
  first();
  driver_.record(written_, writer_);
  driver_.record(written_, idle_);
  driver_.wait(reader_, written_);
  second();

  EXPECT_THAT(driver_.violations(), one_race());
}

TEST_F(Races, AChainOfEventsOrders) {
  const EventHandle passed = driver_.create_event(gpu(0));

  first();
  driver_.record(written_, writer_);
  driver_.wait(idle_, written_);
  driver_.record(passed, idle_);
  driver_.wait(reader_, passed);
  second();

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(Races, OneStreamOrders) {
  first();
  copy(destination_, middle_, 8000, writer_);

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(Races, AHostThatHasSynchronisedOrders) {
  first();
  driver_.synchronize(writer_);
  second();

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(Races, AHostThatHasSeenTheEventDoneOrders) {
  first();
  driver_.record(written_, writer_);
  while (!driver_.is_done(written_)) {
  }
  second();

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(Races, AHostThatHasSeenTheEventNotDoneDoesNotOrder) {
  first();
  driver_.record(written_, writer_);
  ASSERT_FALSE(driver_.is_done(written_));
  second();

  EXPECT_THAT(driver_.violations(), one_race());
}

TEST_F(Races, SynchronisingAnotherStreamDoesNotOrder) {
  first();
  driver_.synchronize(idle_);
  second();

  EXPECT_THAT(driver_.violations(), one_race());
}

TEST_F(Races, TwoReadersAreNoRace) {
  copy(destination_, source_, 8000, writer_);
  copy(middle_, source_, 8000, reader_);

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(Races, TwoWritersAreARace) {
  first();
  copy(middle_, destination_, 8000, reader_);

  EXPECT_EQ(driver_.violations().size(), 1U);
}

TEST_F(Races, NeighboursAreNoRaceButOneSharedByteIs) {
  copy(middle_, source_, 4000, writer_);
  copy(destination_, middle_ + 4000_B, 4000, reader_);
  ASSERT_THAT(driver_.violations(), IsEmpty());

  copy(destination_, middle_ + 3999_B, 1, reader_);

  EXPECT_EQ(driver_.violations().size(), 1U);
}

TEST_F(Races, LargeRangesAreComparedWholly) {
  constexpr std::uint64_t kSize = 200 << 20;
  sim::SimDriver driver(hand_machine(), {false, true, false});
  const Address from = driver.allocate(gpu(0), {kSize});
  const Address to = driver.allocate(gpu(1), {kSize});
  const Address last = driver.allocate(gpu(2), {1});

  driver.copy({to, gpu(1), from, gpu(0), {kSize}, {}}, driver.create_stream(gpu(0)));
  driver.copy({last, gpu(2), to + Bytes{kSize - 1}, gpu(1), {1}, {}}, driver.create_stream(gpu(1)));

  EXPECT_EQ(driver.violations().size(), 1U);
}

TEST_F(Races, ANewStreamInTheSlotOfAnOldOneIsAnotherStream) {
  first();
  driver_.destroy_stream(writer_);
  reader_ = driver_.create_stream(gpu(1));
  second();

  EXPECT_THAT(driver_.violations(), one_race());
}

TEST_F(Races, TheSameRaceAgainIsReportedUpToABound) {
  first();
  for (int i = 0; i < 500; ++i) second();

  EXPECT_EQ(driver_.violations().size(), sim::SimDriver::kMostViolations);
}

// --- graphs ---

TEST_F(Races, GraphNodesWithoutAnEdgeAreARace) {
  const GraphHandle graph = driver_.instantiate(
      {{request(middle_, source_, 8000), {}}, {request(destination_, middle_, 8000), {}}});

  driver_.launch(graph, writer_);

  EXPECT_THAT(driver_.violations(), one_race());
}

TEST_F(Races, GraphEdgesOrder) {
  const GraphHandle graph = driver_.instantiate(
      {{request(middle_, source_, 8000), {}}, {request(destination_, middle_, 8000), {0}}});

  driver_.launch(graph, writer_);

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

// Node 2 reads what both branches wrote, but waits for one of them only.
TEST_F(Races, AGraphNodeThatMissesOneOfItsEdgesIsARace) {
  const GraphHandle graph =
      driver_.instantiate({{request(middle_, source_, 4000), {}},
                           {request(middle_ + 4000_B, source_ + 4000_B, 4000), {}},
                           {request(destination_, middle_, 8000), {1}}});

  driver_.launch(graph, writer_);

  EXPECT_EQ(driver_.violations().size(), 1U);
}

TEST_F(Races, AGraphIsOrderedByItsStream) {
  const GraphHandle graph = driver_.instantiate({{request(destination_, middle_, 8000), {}}});

  first();
  driver_.launch(graph, writer_);
  first();

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(Races, AGraphOnAnotherStreamIsARace) {
  const GraphHandle graph = driver_.instantiate({{request(destination_, middle_, 8000), {}}});

  first();
  driver_.launch(graph, reader_);

  EXPECT_THAT(driver_.violations(), one_race());
}

// The branches of the two launches cross over, so that each branch's own order is not enough.
TEST_F(Races, ALaunchComesAfterTheSameGraphsEarlierLaunchOnAnyStream) {
  const GraphHandle graph =
      driver_.instantiate({{request(middle_, source_, 4000), {}},
                           {request(middle_ + 4000_B, source_ + 4000_B, 4000), {}}});

  driver_.launch(graph, writer_);
  driver_.update_node(graph, 0, middle_ + 4000_B, source_);
  driver_.update_node(graph, 1, middle_, source_ + 4000_B);
  driver_.launch(graph, reader_);

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(Races, LaunchesOfTwoEqualGraphsOnTwoStreamsAreARace) {
  const std::vector<GraphNode> nodes{{request(middle_, source_, 8000), {}}};

  driver_.launch(driver_.instantiate(nodes), writer_);
  driver_.launch(driver_.instantiate(nodes), reader_);

  EXPECT_EQ(driver_.violations().size(), 1U);
}

// --- misuse besides races ---

TEST_F(Races, FreeingMemoryThatQueuedWorkUsesIsReported) {
  const Contents sent = pattern(8000, 1);
  write(source_, sent);

  first();
  driver_.free(source_);
  driver_.synchronize(writer_);

  EXPECT_THAT(driver_.violations(),
              ElementsAre(AllOf(HasSubstr("use after free"), HasSubstr("gpu0"))));
  EXPECT_TRUE(same_bytes(read(middle_, 8000), sent));
}

TEST_F(Races, FreeingMemoryNobodyHasWaitedForIsReportedEvenIfTheWorkIsOver) {
  first();
  let_time_pass();
  driver_.free(source_);

  EXPECT_THAT(driver_.violations(), ElementsAre(HasSubstr("use after free")));
}

TEST_F(Races, FreeingMemoryAfterSynchronisingIsFine) {
  first();
  driver_.synchronize(writer_);
  driver_.free(source_);
  driver_.free(middle_);

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(Races, MemoryReusedAfterAFreeIsNew) {
  first();
  driver_.synchronize(writer_);
  driver_.free(middle_);
  middle_ = memory(gpu(1), 8000);

  second();

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(Races, WaitingForAnEventNeverRecordedIsReported) {
  driver_.wait(reader_, written_);

  EXPECT_THAT(driver_.violations(),
              ElementsAre(AllOf(HasSubstr("waits for event " + std::to_string(written_.value)),
                                HasSubstr("never recorded"))));
}

TEST_F(Races, ALaunchedGraphWhoseMemoryIsGoneIsRefused) {
  const GraphHandle graph = driver_.instantiate({{request(middle_, source_, 8000), {}}});
  driver_.free(middle_);

  EXPECT_THROW(driver_.launch(graph, writer_), Error);
  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(Races, NothingIsReportedWhenNotAskedTo) {
  sim::SimDriver driver(hand_machine(), {true, false, false});
  const Address from = driver.allocate(gpu(0), 64_B);
  const Address to = driver.allocate(gpu(1), 64_B);

  driver.copy({to, gpu(1), from, gpu(0), 64_B, {}}, driver.create_stream(gpu(0)));
  driver.copy({to, gpu(1), from, gpu(0), 64_B, {}}, driver.create_stream(gpu(0)));

  EXPECT_THAT(driver.violations(), IsEmpty());
}

TEST(Leaks, AreListedUntilGivenBack) {
  sim::SimDriver driver(hand_machine());
  const Address memory = driver.allocate({1}, 4096_B);
  const StreamHandle stream = driver.create_stream({0});
  const EventHandle event = driver.create_event({0});
  const EventHandle other = driver.create_event({0});
  const GraphHandle graph = driver.instantiate({{{memory, {1}, memory + 64_B, {1}, 64_B, {}}, {}}});

  EXPECT_THAT(driver.leaks(),
              ElementsAre("4096 bytes at gpu1", "1 streams", "2 events", "1 graphs"));
  driver.destroy_graph(graph);
  driver.destroy_event(event);
  driver.destroy_event(other);
  driver.destroy_stream(stream);
  driver.free(memory);
  EXPECT_THAT(driver.leaks(), IsEmpty());
}

}  // namespace
}  // namespace polypath::test
