// What is reported besides races: memory that is used after it was freed, events that were never
// recorded, and what was not given back.

#include "core/error.h"
#include "driver/races.h"
#include "support/layers.h"

namespace polypath::test::sim_misuse_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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
}  // namespace polypath::test::sim_misuse_test
