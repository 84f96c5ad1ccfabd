// Plans made from what was found before are those that a search makes.

#include "plan/joint/found_plans.h"

#include <gtest/gtest.h>

#include "plan/joint/patterns.h"
#include "plan/planning.h"
#include "support/effort.h"
#include "support/random.h"

namespace polypath::test::found_plans_test {
namespace {

void expect_same(const Plan& made, const Plan& again) {
  EXPECT_EQ(made.structure, again.structure);
  EXPECT_EQ(made.executor(), again.executor());
  EXPECT_EQ(made.predicted.value, again.predicted.value);
  EXPECT_EQ(made.native_predicted.value, again.native_predicted.value);
  ASSERT_EQ(made.shape.paths.size(), again.shape.paths.size());
  for (std::size_t p = 0; p < made.shape.paths.size(); ++p) {
    EXPECT_EQ(made.shape.paths[p].path, again.shape.paths[p].path);
    EXPECT_EQ(made.shape.paths[p].chunks, again.shape.paths[p].chunks);
  }
  ASSERT_EQ(made.decisions.size(), again.decisions.size());
  for (std::size_t d = 0; d < made.decisions.size(); ++d) {
    EXPECT_EQ(made.decisions[d].reason, again.decisions[d].reason);
    EXPECT_EQ(made.decisions[d].predicted.value, again.decisions[d].predicted.value);
    EXPECT_EQ(made.decisions[d].share, again.decisions[d].share);
  }
}

FoundPlans found_by(const Planner& planner) {
  FoundPlans found;
  planner.add_found(found);
  return found;
}

struct Wanted {
  PlaceId source;
  PlaceId destination;
  Bytes bytes;
  PlanOptions options;
};

Wanted any_wanted(const Machine& machine, Random& random) {
  const Hop& hop = random.pick(machine.hops);
  Wanted wanted{
      hop.source, hop.destination, {random.between(1, 1 << 18) << random.integer(0, 11)}, {}};
  if (random.chance(40)) wanted.options.both_ways = BothWays::by_threads;
  if (random.chance(30)) wanted.options.executor = Executor::stream;
  return wanted;
}

TEST(FoundPlans, AnotherPlannerMakesTheSamePlanWithoutASearch) {
  Random random(12);
  for (int seed = 0; seed < short_or_long(30, 120); ++seed) {
    SCOPED_TRACE(seed);
    PlannerRig first("synthetic:" + std::to_string(seed)), second(first.machine);
    const Wanted wanted = any_wanted(first.machine, random);
    const auto plan = [&](Planner& planner) {
      return planner.plan(wanted.source, wanted.destination, wanted.bytes, wanted.options);
    };
    const PlanPointer made = plan(first.planner);

    second.planner.recall(found_by(first.planner));
    const PlanPointer again = plan(second.planner);

    EXPECT_EQ(second.planner.searches(), 0U);
    expect_same(*made, *again);
  }
}

TEST(FoundPlans, SoDoesAnotherJointPlanner) {
  Random random(3);
  for (int seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    PlannerRig first("synthetic:" + std::to_string(seed)), second(first.machine);
    JointPlanner finder(first.planner), other(second.planner);
    std::vector<JointTransfer> transfers;
    for (int k = 0; k < 2; ++k) {
      const Hop& hop = random.pick(first.machine.hops);
      transfers.push_back({hop.source, hop.destination, {random.between(8, 512) << 20}});
    }
    JointOptions options;
    options.issuers = random.chance(50) ? Issuers::threads : Issuers::one_thread;
    options.executor = Executor::stream;
    const JointPlanPointer made = finder.plan(transfers, options);
    FoundPlans found = found_by(first.planner);
    finder.add_found(found);

    second.planner.recall(found);
    other.recall(found);
    const JointPlanPointer again = other.plan(transfers, options);

    EXPECT_EQ(other.searches(), 0U);
    EXPECT_EQ(made->predicted.value, again->predicted.value);
    EXPECT_EQ(made->calls.value, again->calls.value);
    ASSERT_EQ(made->plans.size(), again->plans.size());
    for (std::size_t k = 0; k < made->plans.size(); ++k)
      expect_same(*made->plans[k], *again->plans[k]);
  }
}

TEST(FoundPlans, FromWhichSizeOnIsFoundOnce) {
  PlannerRig first("beluga"), second(first.machine);
  const PlaceId host = first.machine.find_place("host0");
  const Bytes smallest = first.planner.smallest_planned(host, kGpu0, 1_MiB);

  second.planner.recall(found_by(first.planner));

  EXPECT_LT(smallest, kAlwaysPlanned);
  EXPECT_EQ(second.planner.smallest_planned(host, kGpu0, 1_MiB), smallest);
  EXPECT_EQ(second.planner.searches(), 0U);
}

TEST(FoundPlans, WhatWasFoundBesideOthersIsNotAdded) {
  PlannerRig rig("beluga");
  PlanOptions options;
  options.left_out.add(PlaceId{2}, LeftOutBecause::preparation_failed);

  (void)rig.plan(64_MiB, options);

  EXPECT_TRUE(found_by(rig.planner).recipes.empty());
  EXPECT_EQ(rig.planner.searches(), 0U);
}

TEST(FoundPlans, WhatCannotBeIsSearchedForAgain) {
  PlannerRig first("beluga");
  const PlanPointer made = first.plan(64_MiB);
  const FoundPlans good = found_by(first.planner);
  Settings without;
  without.exclude = {"gpu2"};
  const auto recalled = [&](const FoundPlans& found, const Settings& settings) {
    PlannerRig rig(first.machine, settings);
    rig.planner.recall(found);
    (void)rig.plan(64_MiB);
    return rig.planner.searches();
  };
  const auto with = [&](auto change) {
    FoundPlans bad = good;
    for (FoundRecipe& recipe : bad.recipes) change(recipe.split);
    return bad;
  };

  EXPECT_EQ(recalled(good, {}), 0U);
  EXPECT_EQ(recalled(good, without), 2U);
  EXPECT_EQ(recalled(with([](FoundSplit& split) { split.clear(); }), {}), 2U);
  EXPECT_EQ(recalled(with([](FoundSplit& split) { split[0].share += 0.5; }), {}), 2U);
  EXPECT_EQ(recalled(with([](FoundSplit& split) { split[1].path = split[0].path; }), {}), 2U);
  EXPECT_EQ(recalled(with([](FoundSplit& split) { split[1].chunks = 1e30; }), {}), 2U);
  EXPECT_EQ(recalled(with([](FoundSplit& split) { split[1].taper = 3; }), {}), 2U);
}

}  // namespace
}  // namespace polypath::test::found_plans_test
