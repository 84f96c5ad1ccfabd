// The race report: what no chain of stream order and events puts in order is found, whatever the
// timing; what is ordered is not reported.

#include "driver/races.h"
#include "support/layers.h"

namespace polypath::test::sim_races_test {
namespace {

using testing::IsEmpty;

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

TEST_F(Races, NothingIsReportedWhenNotAskedTo) {
  sim::SimDriver driver(hand_machine(), {true, false, false});
  const Address from = driver.allocate(gpu(0), 64_B);
  const Address to = driver.allocate(gpu(1), 64_B);

  driver.copy({to, gpu(1), from, gpu(0), 64_B, {}}, driver.create_stream(gpu(0)));
  driver.copy({to, gpu(1), from, gpu(0), 64_B, {}}, driver.create_stream(gpu(0)));

  EXPECT_THAT(driver.violations(), IsEmpty());
}

}  // namespace
}  // namespace polypath::test::sim_races_test
