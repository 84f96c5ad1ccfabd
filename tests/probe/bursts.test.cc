// Calibration gives back bursts, and what threads hold each other up, of simulated machines.

#include "probe/bursts.h"

#include "probe/calibrated.h"
#include "probe/hold_up.h"
#include "support/effort.h"

namespace polypath::test::bursts_test {
namespace {

constexpr double kClose = 0.03;
// A size is the small difference of two long times: calls and ends of copies leave their traces.
constexpr double kCloseSize = 0.1;

const Resource& resource(const Machine& machine, const std::string& name) {
  for (const Resource& each : machine.resources)
    if (each.name == name) return each;
  throw std::out_of_range(name);
}

void expect_burst(const Machine& found, const Machine& machine, const std::string& name) {
  const Resource &seen = resource(found, name), &is = resource(machine, name);
  EXPECT_TRUE(within(kClose, seen.burst.rate.value, is.burst.rate.value)) << name;
  EXPECT_TRUE(within(kCloseSize, seen.burst.size.real(), is.burst.size.real())) << name;
  EXPECT_TRUE(within(kClose, seen.capacity.value, is.capacity.value)) << name;
}

Machine h200x4_with_bursts(BytesPerSecond rate, Bytes size) {
  Machine machine = load_machine("h200x4");
  for (Resource& each : machine.resources)
    if (each.burst.size.value > 0) each.burst = {rate, size};
  return machine;
}

TEST(CalibrateBursts, RecoversThoseOfH200) {
  const Machine machine = load_machine("h200x4");

  const Machine found = calibrated(machine).machine;

  expect_burst(found, machine, "host0.write");
  expect_burst(found, machine, "host0.total");
}

TEST(CalibrateBursts, RecoversOthers) {
  const Machine machine = h200x4_with_bursts(200_GBps, 24_MiB);

  const Machine found = calibrated(machine).machine;

  expect_burst(found, machine, "host0.write");
  expect_burst(found, machine, "host0.total");
}

TEST(CalibrateBursts, SaysWhereTheyAreFrom) {
  const probe::Calibration found = calibrated(load_machine("h200x4"));

  for (std::size_t r = 0; r < found.machine.resources.size(); ++r)
    EXPECT_EQ(found.provenance.bursts[r].rfind("measured 2026-01-02 on sim", 0) == 0,
              found.machine.resources[r].burst.size.value > 0)
        << found.machine.resources[r].name;
}

class CalibrateNoBurst : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (is_left_out(GetParam(), {"synthetic:13"})) GTEST_SKIP() << "in the long form";
  }
};

TEST_P(CalibrateNoBurst, FindsNoneWhereThereIsNone) {
  const Machine found = calibrated(load_machine(GetParam())).machine;

  for (const Resource& each : found.resources) EXPECT_EQ(each.burst.size, 0_B) << each.name;
  EXPECT_EQ(found.costs.threads_hold_up, 0_us);
}

INSTANTIATE_TEST_SUITE_P(Machines, CalibrateNoBurst,
                         testing::Values("beluga", "mist", "narval", "nop2p4", "pcie4",
                                         "synthetic:2", "synthetic:5", "synthetic:13"));

// A machine that says it has one, on a driver that has none.
TEST(CalibrateBursts, LeavesOutWhatIsNotThere) {
  const Machine machine = load_machine("h200x4");
  Machine without = machine;
  for (Resource& each : without.resources) each.burst = {};
  without.costs.threads_hold_up = {};
  sim::SimDriver driver(without, kTimingOnly);

  const Machine found = probe::calibrate(driver, machine, kOptions).machine;

  for (const Resource& each : found.resources) EXPECT_EQ(each.burst.size, 0_B) << each.name;
  EXPECT_EQ(found.costs.threads_hold_up, 0_us);
}

class CalibrateHoldUp : public testing::TestWithParam<const char*> {};

TEST_P(CalibrateHoldUp, RecoversWhatThreadsHoldEachOtherUp) {
  Machine machine = load_machine(GetParam());
  machine.costs.threads_hold_up = 4_us;

  const Machine found = calibrated(machine).machine;

  EXPECT_TRUE(within(kClose, found.costs.threads_hold_up.value, 4e-6));
  EXPECT_TRUE(within(kClose, found.costs.copy.value, machine.costs.copy.value));
}

INSTANTIATE_TEST_SUITE_P(Machines, CalibrateHoldUp,
                         testing::Values("h200x4", "beluga", "mist", "dgx-a100"));

}  // namespace
}  // namespace polypath::test::bursts_test
