// What is measured of one hop, worked out by hand on the machine of support/hand_machine.h:
// gpu0 -> gpu1 has α = 10 us and β = 0.8 GB/s; a copy call takes 1 us, synchronize 4 us.

#include "probe/hop_times.h"

#include "driver/hand_driver.h"
#include "probe/call_costs.h"
#include "support/layers.h"

namespace polypath::test::hop_times_test {
namespace {

class Probe : public HandDriver {
 protected:
  Machine machine_ = hand_machine();
  probe::Workbench bench_{driver_, machine_};
  probe::Sampler sampler_{{}};
};

// 64 KiB: 10 + 65536/800 = 91.92 us per copy in a chain. T(1) = 1 + 91.92 + 4.
TEST_F(Probe, TimesCopiesInChains) {
  const probe::HopTimes times =
      probe::measure_hop(bench_, sampler_, *machine_.find_hop(gpu(0), gpu(1)), 1_us);

  const probe::SizeTime* size = times.at(64_KiB);
  ASSERT_NE(size, nullptr);
  expect_time(size->per_copy, 91.92);
  expect_time(size->synchronize, 4);
  expect_time(times.latency(), 10);
  EXPECT_NEAR(times.bandwidth().value, 0.8e9, 1);
  EXPECT_NEAR(times.fit_error, 0, 1e-9);
  // 16 MiB take 21 ms; 64 MiB would take more than 50 ms, too long to wait for.
  EXPECT_EQ(times.sizes.back().bytes, 16_MiB);
}

// With 50 us per call only copies of more than 150 us keep the device busy: from 256 KiB on.
TEST_F(Probe, LeavesOutSizesThatAreIssuedTooSlowly) {
  const probe::HopTimes times =
      probe::measure_hop(bench_, sampler_, *machine_.find_hop(gpu(0), gpu(1)), 50_us);

  EXPECT_EQ(times.sizes.front().bytes, 256_KiB);
}

TEST_F(Probe, TimesCalls) {
  const probe::StreamCosts costs = probe::measure_stream_costs(bench_, sampler_);

  expect_time(costs.copy.value, 1);
  expect_time(costs.event_record.value, 2);
  expect_time(costs.event_wait.value, 3);
}

TEST_F(Probe, TimesGraphs) {
  const probe::GraphCosts costs = probe::measure_graph_costs(bench_, sampler_);

  expect_time(costs.launch.once, 5);
  expect_time(costs.launch.per_node, 1);
  expect_time(costs.instantiate.once, 20);
  expect_time(costs.instantiate.per_node, 2);
  expect_time(costs.update_node.value, 0.5);
}

// The first hop is gpu0 -> gpu1; of those out of gpu1, gpu1 -> gpu0 is another GPU's.
TEST_F(Probe, RelaysOverTwoGpus) {
  const probe::HopPair pair = probe::staged_pair(machine_);

  EXPECT_EQ(pair.first, *machine_.find_hop(gpu(0), gpu(1)));
  EXPECT_EQ(pair.second, *machine_.find_hop(gpu(1), gpu(0)));
}

TEST_F(Probe, GivesEverythingBack) {
  {
    probe::Workbench bench(driver_, machine_);
    (void)probe::measure_graph_costs(bench, sampler_);
  }

  EXPECT_TRUE(driver_.leaks().empty());
  EXPECT_TRUE(driver_.violations().empty());
}

}  // namespace
}  // namespace polypath::test::hop_times_test
