// When calibration refuses: clocks that jitter, driver calls that fail. And that it is the same
// every time, races nothing and gives everything back.

#include "machine/equal.h"
#include "probe/calibrated.h"
#include "support/errors.h"
#include "support/forwarding_driver.h"
#include "support/hand_machine.h"
#include "support/random.h"

namespace polypath::test::trust_test {
namespace {

using sim::Call;

// A clock that is off by up to `most`, as of a machine on which something else runs.
class JitteringDriver : public ForwardingDriver {
 public:
  JitteringDriver(Driver& real, Seconds most) : ForwardingDriver(real), most_(most) {}

  Seconds now() override {
    offset_ += most_ * (static_cast<double>(random_.between(0, 1000)) / 1000);
    return ForwardingDriver::now() + offset_;
  }

 private:
  Seconds most_;
  Seconds offset_;
  Random random_{7};
};

TEST(Trust, RefusesANoisyMachine) {
  const Machine machine = load_machine("h200x4");
  sim::SimDriver driver(machine, kTimingOnly);
  JitteringDriver jittering(driver, 200_us);

  expect_error(
      ErrorCode::noisy_machine, [&] { (void)probe::calibrate(jittering, machine, kOptions); },
      "differ by", "% at every try", "more than 5.0 % is not believed, and nothing was stored");
  EXPECT_TRUE(driver.leaks().empty());
}

// 20 ns on each look at the clock is what real clocks have.
TEST(Trust, PutsUpWithALittleNoise) {
  const Machine machine = load_machine("h200x4");
  sim::SimDriver driver(machine, kTimingOnly);
  JitteringDriver jittering(driver, {20e-9});

  const probe::Calibration found = probe::calibrate(jittering, machine, kOptions);

  for (std::size_t h = 0; h < machine.hops.size(); ++h) {
    EXPECT_TRUE(within(0.03, found.machine.hops[h].latency.value, machine.hops[h].latency.value));
    EXPECT_TRUE(
        within(0.03, found.machine.hops[h].bandwidth.value, machine.hops[h].bandwidth.value));
  }
  EXPECT_TRUE(within(0.03, found.machine.costs.copy.value, machine.costs.copy.value));
}

// A processor whose clock changes: that a stream waits for an event costs the calling thread up to
// a third more or less, another third after each look at the clock.
class UnsteadyCalls : public ForwardingDriver {
 public:
  UnsteadyCalls(Driver& real, Seconds cost) : ForwardingDriver(real), cost_(cost) {}

  Seconds now() override {
    deviation_ = cost_ * ((static_cast<double>(random_.between(0, 1000)) / 1000 - 0.5) * 2 / 3);
    return ForwardingDriver::now() + offset_;
  }
  void wait(StreamHandle stream, EventHandle event) override {
    ForwardingDriver::wait(stream, event);
    offset_ += deviation_;
  }

 private:
  Seconds cost_;
  Seconds deviation_;
  Seconds offset_;
  Random random_{7};
};

TEST(Trust, BelievesCostsOfCallsThatScatter) {
  const Machine machine = load_machine("h200x4");
  sim::SimDriver driver(machine, kTimingOnly);
  UnsteadyCalls unsteady(driver, machine.costs.event_wait);

  const probe::Calibration found = probe::calibrate(unsteady, machine, kOptions);

  EXPECT_TRUE(within(0.25, found.machine.costs.event_wait.value, machine.costs.event_wait.value));
  probe::CalibrationOptions strict = kOptions;
  strict.trust.most_call_spread = strict.trust.most_spread;
  expect_error(
      ErrorCode::noisy_machine, [&] { (void)probe::calibrate(unsteady, machine, strict); },
      "waiting for an event", "differ by");
}

// What is believed is the caller's choice.
TEST(Trust, HasALimitThatCanBeChosen) {
  const Machine machine = load_machine("h200x4");
  sim::SimDriver driver(machine, kTimingOnly);
  JitteringDriver jittering(driver, {20e-9});
  probe::CalibrationOptions strict = kOptions;
  strict.trust.most_spread = 1e-9;

  expect_error(
      ErrorCode::noisy_machine, [&] { (void)probe::calibrate(jittering, machine, strict); },
      "differ by");
}

TEST(Trust, FindsTheSameEveryTime) {
  const Machine machine = load_machine("synthetic:4");

  const probe::Calibration first = calibrated(machine);
  const probe::Calibration second = calibrated(machine);

  EXPECT_EQ(machine_to_json(first.machine, first.provenance),
            machine_to_json(second.machine, second.provenance));
}

TEST(Trust, RacesNothingAndGivesEverythingBack) {
  for (const char* name : {"h200x4", "nop2p4", "synthetic:4"}) {
    const Machine machine = load_machine(name);
    sim::SimDriver driver(machine, {false, true, false});

    (void)probe::calibrate(driver, machine, kOptions);

    EXPECT_EQ(driver.violations(), std::vector<std::string>{}) << name;
    EXPECT_EQ(driver.leaks(), std::vector<std::string>{}) << name;
  }
}

TEST(Trust, TellsHowFarItIs) {
  const Machine machine = load_machine("h200x4");
  sim::SimDriver driver(machine, kTimingOnly);
  std::vector<int> done;
  int total = 0;

  (void)probe::calibrate(driver, machine, kOptions, [&](int now, int all) {
    done.push_back(now);
    total = all;
  });

  // 20 hops, 20 + 12 relays over two GPUs and over one, calls, graphs, and 4·5 + 3 capacities.
  EXPECT_EQ(total, 20 + 32 + 2 + 23);
  ASSERT_EQ(done.size(), 77U);
  for (int i = 0; i < total; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i + 1);
}

// A machine whose calls cost nothing has a clock that stands still while events are asked for.
TEST(Trust, EndsWhereCallsCostNothing) {
  Machine machine = hand_machine();
  machine.costs = {};

  const probe::Calibration found = calibrated(machine);

  EXPECT_EQ(found.machine.costs.copy, Seconds{});
  EXPECT_EQ(found.machine.costs.graph_launch_node, Seconds{});
  EXPECT_TRUE(within(0.03, found.machine.resources[0].capacity.value, 1e9));
}

class Failures : public testing::TestWithParam<Call> {};

// The first use of each kind of call fails, the second, the fourth, ... and the last but for those
// that give back, which fail silently.
TEST_P(Failures, GiveAnErrorAndLeaveNothing) {
  const Machine machine = hand_machine();
  sim::SimDriver counting(machine, kTimingOnly);
  (void)probe::calibrate(counting, machine, kOptions);
  const bool waits = GetParam() == Call::synchronize;
  const int uses = counting.uses(GetParam()) - (waits ? counting.uses(Call::create_stream) : 0);
  ASSERT_GT(uses, 0);
  for (int nth = 1; nth <= uses; nth = nth < uses ? std::min(2 * nth, uses) : uses + 1) {
    sim::SimDriver driver(machine, {false, true, false});
    driver.fail_nth(GetParam(), nth);

    const auto error = error_of([&] { (void)probe::calibrate(driver, machine, kOptions); });

    ASSERT_TRUE(error) << nth;
    EXPECT_TRUE(error->code() == ErrorCode::driver || error->code() == ErrorCode::out_of_memory);
    EXPECT_EQ(driver.leaks(), std::vector<std::string>{}) << nth;
    EXPECT_EQ(driver.violations(), std::vector<std::string>{}) << nth;
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, Failures,
                         testing::Values(Call::allocate, Call::create_stream, Call::create_event,
                                         Call::record, Call::wait, Call::is_done, Call::copy,
                                         Call::instantiate, Call::update_node, Call::launch,
                                         Call::synchronize),
                         [](const auto& info) { return std::string(sim::name_of(info.param)); });

}  // namespace
}  // namespace polypath::test::trust_test
