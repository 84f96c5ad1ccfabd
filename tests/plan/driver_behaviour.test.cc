// What a machine's file says of its driver decides what several paths must gain there.

#include <gtest/gtest.h>

#include "plan/planning.h"
#include "support/layers.h"

namespace polypath::test::driver_behaviour_test {
namespace {

PlannerRig rig_with(const char* name, const DriverBehaviour& driver) {
  Machine machine = load_machine(name);
  machine.driver = driver;
  return PlannerRig(machine);
}

PlanOptions issued(BothWays by) {
  PlanOptions options;
  options.both_ways = by;
  return options;
}

bool splits(const PlanPointer& plan) { return plan->executor() != Executor::native; }

// 64 MiB take 1.39 ms natively and gain most of it.
TEST(LeastGain, IsTheMachines) {
  DriverBehaviour driver;
  EXPECT_TRUE(splits(rig_with("beluga", driver).plan(64_MiB)));

  driver.least_gain = 1390_us;

  EXPECT_FALSE(splits(rig_with("beluga", driver).plan(64_MiB)));
}

TEST(LeastGain, BesideOthersIsTheMachines) {
  const ConcurrentTransfer other{
      .source = {2}, .destination = {3}, .bytes = 64_MiB, .plan = nullptr};
  DriverBehaviour driver;
  EXPECT_TRUE(splits(rig_with("beluga", driver).plan(64_MiB, {}, {other})));

  driver.least_gain = 1390_us;

  EXPECT_FALSE(splits(rig_with("beluga", driver).plan(64_MiB, {}, {other})));
}

TEST(LeastGain, BothWaysByTwoThreadsIsTheirs) {
  DriverBehaviour driver;
  driver.least_gain_two_threads = 100'000_us;
  PlannerRig rig = rig_with("h200x4", driver);

  EXPECT_FALSE(splits(rig.plan(256_MiB, issued(BothWays::by_threads))));
  EXPECT_TRUE(splits(rig.plan(256_MiB, issued(BothWays::by_processes))));
}

TEST(LeastGain, BothWaysByOneThreadIsItsOwn) {
  DriverBehaviour driver;
  EXPECT_TRUE(splits(rig_with("h200x4", driver).plan(2_GiB, issued(BothWays::by_one_thread))));
  driver.least_gain_one_thread = 100'000_us;
  PlannerRig rig = rig_with("h200x4", driver);

  EXPECT_FALSE(splits(rig.plan(2_GiB, issued(BothWays::by_one_thread))));
  EXPECT_TRUE(splits(rig.plan(2_GiB, issued(BothWays::by_threads))));
}

// A host path of our own gains less than half over the driver's.
TEST(LeastGain, OverWhatTheDriverStagesIsTheMachinesInSmallMessages) {
  DriverBehaviour driver;
  EXPECT_TRUE(splits(rig_with("nop2p4", driver).plan(6_MiB)));

  driver.least_gain_driver_staged = 1;

  EXPECT_FALSE(splits(rig_with("nop2p4", driver).plan(6_MiB)));
  EXPECT_TRUE(splits(rig_with("nop2p4", driver).plan(8_MiB)));
}

TEST(LeastGain, OverWhatTheDriverStagesEndsWhereTheMachineSays) {
  DriverBehaviour driver;
  driver.least_gain_driver_staged = 1;

  driver.driver_staged_steps_below = 6_MiB;

  EXPECT_TRUE(splits(rig_with("nop2p4", driver).plan(6_MiB)));
  EXPECT_FALSE(splits(rig_with("nop2p4", driver).plan(6_MiB - 1_B)));
}

}  // namespace
}  // namespace polypath::test::driver_behaviour_test
