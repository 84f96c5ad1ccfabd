// Max-min fair rates; 1 GB/s where a test does not say otherwise.

#include "model/fair_rates.h"

#include <gtest/gtest.h>

#include "model/close.h"
#include "support/hand_machine.h"
#include "support/random.h"

namespace polypath::test::fair_rates_test {
namespace {

constexpr ResourceId kLink{0};
constexpr ResourceId kPort{1};

// --- by hand ---

// Two flows that could have 0.8 each divide 1: 0.5 each.
TEST(FairRates, OneLinkIsDividedEqually) {
  const std::vector<Use> uses{{kLink, 1}};
  const std::vector<Flow> flows{{0.8_GBps, uses}, {0.8_GBps, uses}};

  const auto rates = fair_rates(flows, std::vector<Capacity>{Capacity(1_GBps)});

  EXPECT_TRUE(close(rates[0], 0.5_GBps));
  EXPECT_TRUE(close(rates[1], 0.5_GBps));
}

// The first stops at its cap, 0.3; the other gets what it leaves: 1 - 0.3 = 0.7.
TEST(FairRates, WhatACappedFlowLeavesGoesToTheOthers) {
  const std::vector<Use> uses{{kLink, 1}};
  const std::vector<Flow> flows{{0.3_GBps, uses}, {0.8_GBps, uses}};

  const auto rates = fair_rates(flows, std::vector<Capacity>{Capacity(1_GBps)});

  EXPECT_TRUE(close(rates[0], 0.3_GBps));
  EXPECT_TRUE(close(rates[1], 0.7_GBps));
}

// Equal rates x, not equal claims: 2x + x = 1.2, so x = 0.4.
TEST(FairRates, AHeavyClaimCountsForTheLinkAndNotForTheRate) {
  const std::vector<Use> heavy{{kLink, 2}}, light{{kLink, 1}};
  const std::vector<Flow> flows{{1_GBps, heavy}, {1_GBps, light}};

  const auto rates = fair_rates(flows, std::vector<Capacity>{1.2_GBps});

  EXPECT_TRUE(close(rates[0], 0.4_GBps));
  EXPECT_TRUE(close(rates[1], 0.4_GBps));
}

// The port, 0.6 for two, fills first: 0.3 each. The first flow gets the rest of the link: 1 - 0.3.
TEST(FairRates, TheTightestResourceDecidesFirst) {
  const std::vector<Use> link{{kLink, 1}}, both{{kLink, 1}, {kPort, 1}}, port{{kPort, 1}};
  const std::vector<Flow> flows{{1_GBps, link}, {1_GBps, both}, {1_GBps, port}};

  const auto rates = fair_rates(flows, std::vector<Capacity>{1_GBps, 0.6_GBps});

  EXPECT_TRUE(close(rates[0], 0.7_GBps));
  EXPECT_TRUE(close(rates[1], 0.3_GBps));
  EXPECT_TRUE(close(rates[2], 0.3_GBps));
}

TEST(FairRates, AloneAFlowHasItsCap) {
  const std::vector<Use> uses{{kLink, 1}};
  const std::vector<Flow> flows{{0.8_GBps, uses}, {0.5_GBps, {}}};

  const auto rates = fair_rates(flows, std::vector<Capacity>{Capacity(1_GBps)});

  EXPECT_TRUE(close(rates[0], 0.8_GBps));
  EXPECT_TRUE(close(rates[1], 0.5_GBps));
}

TEST(FairRates, AnInfiniteResourceLimitsNobody) {
  const std::vector<Use> uses{{kLink, 1}};
  const std::vector<Flow> flows{{0.8_GBps, uses}, {0.8_GBps, uses}};

  const auto rates = fair_rates(flows, std::vector<Capacity>{Capacity(BytesPerSecond::infinity())});

  EXPECT_TRUE(close(rates[0], 0.8_GBps));
  EXPECT_TRUE(close(rates[1], 0.8_GBps));
}

TEST(FairRates, NothingIsLeftOfAFullResource) {
  const std::vector<Use> full{{kLink, 1}}, free{{kPort, 1}};
  const std::vector<Flow> flows{{0.8_GBps, full}, {0.8_GBps, free}};

  const auto rates = fair_rates(flows, std::vector<Capacity>{0_GBps, 1_GBps});

  EXPECT_EQ(rates[0].value, 0);
  EXPECT_TRUE(close(rates[1], 0.8_GBps));
}

TEST(FairRates, NoFlowsHaveNoRates) {
  EXPECT_TRUE(fair_rates({}, std::vector{Capacity(1_GBps)}).empty());
}

TEST(FairRates, CapacitiesAreTheMachinesInOrder) {
  const auto capacities = capacities_of(hand_machine());

  ASSERT_EQ(capacities.size(), 6U);
  EXPECT_EQ(capacities[1], 1_GBps);
  EXPECT_EQ(capacities[4], BytesPerSecond::infinity());
}

// --- any problem ---

struct Problem {
  std::vector<std::vector<Use>> uses;
  std::vector<Flow> flows;
  std::vector<Capacity> capacities;
};

Problem random_problem(std::uint64_t seed) {
  Random random(seed);
  Problem problem;
  for (int r = random.integer(1, 5); r > 0; --r)
    problem.capacities.emplace_back(BytesPerSecond{1e8 * random.integer(1, 40)});
  for (int f = random.integer(1, 8); f > 0; --f) {
    std::vector<Use> uses;
    for (std::int32_t r = 0; r < static_cast<std::int32_t>(problem.capacities.size()); ++r)
      if (random.chance(40)) uses.push_back({ResourceId{r}, 0.25 * random.integer(1, 8)});
    problem.uses.push_back(uses);
  }
  for (const auto& uses : problem.uses)
    problem.flows.push_back({{1e8 * random.integer(1, 20)}, uses});
  return problem;
}

double claimed(const Problem& problem, const std::vector<BytesPerSecond>& rates, ResourceId id) {
  double sum = 0;
  for (std::size_t f = 0; f < rates.size(); ++f)
    for (const Use& use : problem.uses[f])
      if (use.resource == id) sum += use.weight * rates[f].value;
  return sum;
}

// True if no other flow on the resource has a larger rate.
bool is_largest_on(const Problem& problem, const std::vector<BytesPerSecond>& rates, std::size_t f,
                   ResourceId id) {
  for (std::size_t other = 0; other < rates.size(); ++other)
    for (const Use& use : problem.uses[other])
      if (use.resource == id && rates[other].value > rates[f].value * (1 + 1e-9)) return false;
  return true;
}

// What proves a rate to be max-min fair: the flow is at its cap, or one of its resources is full
// and no flow there has more, so that it could gain only at the cost of one that has no more.
bool cannot_gain(const Problem& problem, const std::vector<BytesPerSecond>& rates, std::size_t f) {
  if (rates[f].value >= problem.flows[f].cap.value * (1 - 1e-9)) return true;
  for (const Use& use : problem.uses[f]) {
    const double capacity = problem.capacities[use.resource.index()].value;
    const bool full = claimed(problem, rates, use.resource) >= capacity * (1 - 1e-9);
    if (full && is_largest_on(problem, rates, f, use.resource)) return true;
  }
  return false;
}

TEST(FairRates, AreFeasibleAndMaxMinFairForAnyProblem) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Problem problem = random_problem(seed);

    const auto rates = fair_rates(problem.flows, problem.capacities);

    ASSERT_EQ(rates.size(), problem.flows.size());
    for (std::size_t r = 0; r < problem.capacities.size(); ++r)
      EXPECT_LE(claimed(problem, rates, ResourceId{static_cast<std::int32_t>(r)}),
                problem.capacities[r].value * (1 + 1e-9));
    for (std::size_t f = 0; f < rates.size(); ++f) {
      EXPECT_LE(rates[f].value, problem.flows[f].cap.value * (1 + 1e-9)) << "flow " << f;
      EXPECT_TRUE(cannot_gain(problem, rates, f)) << "flow " << f;
    }
  }
}

}  // namespace
}  // namespace polypath::test::fair_rates_test
