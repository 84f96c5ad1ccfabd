// Rates found anew for the copies alone that a change reaches are those of all copies together.

#include "model/hop_rates.h"

#include <gtest/gtest.h>

#include <vector>

#include "machine/load_machine.h"
#include "machine/nodes.h"
#include "support/random.h"

namespace polypath::test::hop_rates_test {
namespace {

// Of as many copies over each hop as `copies` says, by progressive filling of all of them.
std::vector<double> all_together(const Machine& machine, const std::vector<int>& copies,
                                 const std::vector<Capacity>& capacities) {
  std::vector<Flow> flows;
  std::vector<std::size_t> hop_of;
  for (std::size_t hop = 0; hop < copies.size(); ++hop)
    for (int copy = 0; copy < copies[hop]; ++copy) {
      flows.push_back({machine.hops[hop].bandwidth, machine.hops[hop].uses});
      hop_of.push_back(hop);
    }
  const auto rates = fair_rates(flows, capacities);
  std::vector<double> by_hop(copies.size());
  for (std::size_t flow = 0; flow < rates.size(); ++flow) by_hop[hop_of[flow]] = rates[flow].value;
  return by_hop;
}

void expect_same(const RatesAtWork& rates, const std::vector<int>& copies,
                 const std::vector<double>& expected) {
  for (std::size_t hop = 0; hop < copies.size(); ++hop)
    if (copies[hop] > 0)
      EXPECT_NEAR(rates.of({static_cast<std::int32_t>(hop)}), expected[hop], expected[hop] * 1e-9)
          << "hop " << hop;
}

// Copies begin and end at random, and resources with a burst change what they carry.
void compare_for_a_while(const Machine& machine, std::uint64_t seed) {
  Random random(seed);
  const HopRates limits(machine);
  RatesAtWork rates(limits);
  std::vector<int> copies(machine.hops.size());
  std::vector<Capacity> capacities = limits.capacities();
  for (Capacity& each : capacities) each = {BytesPerSecond{each.peak()}};
  for (int step = 0; step < 300; ++step) {
    const std::size_t hop = random.index(machine.hops.size());
    const HopId id{static_cast<std::int32_t>(hop)};
    if (copies[hop] > 0 && random.chance(60)) rates.end(id), --copies[hop];
    else rates.begin(id), ++copies[hop];
    if (const auto bursts = limits.with_burst(); !bursts.empty() && random.chance(10)) {
      const ResourceId resource = bursts[random.index(bursts.size())];
      capacities[resource.index()].value *= random.chance(50) ? 0.5 : 1.5;
      rates.limit(resource, capacities[resource.index()].value);
    }
    if (random.chance(30)) continue;  // several changes at a time

    rates.find();

    SCOPED_TRACE(testing::Message() << machine.name << ", seed " << seed << ", step " << step);
    expect_same(rates, copies, all_together(machine, copies, capacities));
  }
}

TEST(HopRates, AreThoseOfAllCopiesTogether) {
  for (const char* name : {"beluga", "dgx-a100", "h200x8", "mist", "narval"})
    for (std::uint64_t seed = 0; seed < 10; ++seed) compare_for_a_while(load_machine(name), seed);
  const Machine two_nodes = machine_of_nodes(load_machine("cedar"), 2);
  for (std::uint64_t seed = 0; seed < 10; ++seed) compare_for_a_while(two_nodes, seed);
}

}  // namespace
}  // namespace polypath::test::hop_rates_test
