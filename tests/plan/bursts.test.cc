// Plans where a resource carries more for a while.

#include <gtest/gtest.h>

#include "plan/planning.h"
#include "support/effort.h"
#include "support/random.h"

namespace polypath::test::bursts_test {
namespace {

Machine with_bursts(Machine machine, Random& random) {
  for (Resource& resource : machine.resources)
    if (resource.copies_at_once == 0 && random.chance(50))
      resource.burst = {{resource.capacity.value * random.integer(11, 30) / 10},
                        {random.between(1 << 20, 32 << 20)}};
  return machine;
}

// Searches do not try everything: with other starts they end up to 2 % apart.
TEST(Bursts, MakeNoPlanSlower) {
  for (std::uint64_t seed = 1; seed <= short_or_long<std::uint64_t>(10, 40); ++seed) {
    Random random(seed);
    const Machine machine = load_machine("synthetic:" + std::to_string(seed));
    PlannerRig without(machine), with(with_bursts(machine, random));
    for (const Bytes bytes : {4_MiB, 64_MiB})
      EXPECT_LE(with.plan(bytes)->predicted, without.plan(bytes)->predicted * 1.02)
          << "seed " << seed << ", " << bytes.value << " bytes";
  }
}

// 32 MiB to the host over four links: the cache takes 10000 KiB more than the memory in that time,
// 10.24 MB/(124 GB/s) = 83 us.
TEST(Bursts, MakeCopiesToTheHostOfH200Faster) {
  Machine machine = load_machine("h200x4");
  PlannerRig with(machine);
  for (Resource& resource : machine.resources) resource.burst = {};
  PlannerRig without(machine);
  const PlaceId host = machine.find_place("host0");

  const auto fast = with.planner.plan(kGpu0, host, 32_MiB);
  const auto slow = without.planner.plan(kGpu0, host, 32_MiB);

  const Seconds sooner = slow->predicted - fast->predicted;
  EXPECT_GT(sooner, 50_us);
  EXPECT_LT(sooner, 83_us);
}

Machine without_bursts(Machine machine) {
  for (Resource& resource : machine.resources) resource.burst = {};
  return machine;
}

// What meets another transfer meets it again and again, without a rest.
TEST(Bursts, CountForNothingWhereTransfersMeet) {
  PlannerRig with("h200x4"), without(without_bursts(load_machine("h200x4")));
  for (const BothWays by :
       {BothWays::by_threads, BothWays::by_processes, BothWays::by_one_thread}) {
    PlanOptions options;
    options.both_ways = by;

    EXPECT_EQ(with.plan(512_MiB, options)->predicted, without.plan(512_MiB, options)->predicted);
  }
}

// Two calls, a copy and the wait for it, of 3.6 us more each.
TEST(HeldUp, IsInNativeCopiesThatThreadsIssueBothWays) {
  PlannerRig rig("h200x4");
  const auto natively = [&](BothWays by) {
    PlanOptions options;
    options.both_ways = by;
    return rig.plan(64_MiB, options)->native_predicted;
  };
  const Seconds more = natively(BothWays::by_threads) - natively(BothWays::by_processes);

  EXPECT_NEAR(more.value, 7.2e-6, 1e-12);
}

}  // namespace
}  // namespace polypath::test::bursts_test
