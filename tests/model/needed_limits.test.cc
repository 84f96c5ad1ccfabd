// Resources whose limits follow from those of others are left out, and no others.

#include "model/needed_limits.h"

#include <gtest/gtest.h>

#include <vector>

#include "machine/load_machine.h"
#include "model/fair_rates.h"
#include "support/layers.h"

namespace polypath::test::needed_limits_test {
namespace {

using Needed = std::vector<bool>;

// What carries so much, and copies, each of which uses some of it.
Needed needed(const std::vector<BytesPerSecond>& carried,
              const std::vector<std::vector<Use>>& copies) {
  Machine machine;
  for (const BytesPerSecond each : carried)
    machine.resources.push_back({.name = "", .kind = "", .capacity = each});
  for (const auto& uses : copies)
    machine.hops.push_back({{0}, {1}, HopKind::peer, 1_us, 1_GBps, uses});
  return needed_limits(machine, capacities_of(machine));
}

TEST(NeededLimits, ReadsAndWritesThatShareOneRateAreNotLimitedByThemselves) {
  // reads, writes, both
  EXPECT_EQ(needed({2_GBps, 2_GBps, 2_GBps}, {{{{0}}, {{2}}}, {{{1}}, {{2}}}}),
            (Needed{false, false, true}));
  EXPECT_EQ(needed({1_GBps, 2_GBps, 2_GBps}, {{{{0}}, {{2}}}, {{{1}}, {{2}}}}),
            (Needed{true, false, true}));
}

TEST(NeededLimits, WhatCarriesBothDirectionsTogetherLimitsNothing) {
  EXPECT_EQ(needed({1_GBps, 1_GBps, 2_GBps}, {{{{0}}, {{2}}}, {{{1}}, {{2}}}}),
            (Needed{true, true, false}));
  EXPECT_EQ(needed({1_GBps, 1_GBps, 1.5_GBps}, {{{{0}}, {{2}}}, {{{1}}, {{2}}}}),
            (Needed{true, true, true}));
}

TEST(NeededLimits, OneOfTwoThatAreAlikeIsLeft) {
  EXPECT_EQ(needed({1_GBps, 1_GBps}, {{{{0}}, {{1}}}}), (Needed{false, true}));
}

TEST(NeededLimits, ClaimsCountByTheirWeights) {
  EXPECT_EQ(needed({1_GBps, 1_GBps}, {{{{0}, 2}, {{1}, 1}}}), (Needed{true, false}));
}

TEST(NeededLimits, ResourcesWithABurstAreNeeded) {
  const Machine machine = load_machine("h200x4");
  const auto capacities = capacities_of(machine);

  const Needed found = needed_limits(machine, capacities);

  for (std::size_t r = 0; r < found.size(); ++r)
    if (capacities[r].credit > 0) EXPECT_TRUE(found[r]) << machine.resources[r].name;
}

}  // namespace
}  // namespace polypath::test::needed_limits_test
