// Plans beside other transfers harm none of them.

#include "plan/single/contention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/coverage.h"
#include "model/paths.h"
#include "plan/planning.h"
#include "support/hand_machine.h"

namespace polypath::test::company_test {
namespace {

using testing::HasSubstr;

ConcurrentTransfer companion(const Machine& machine, const std::string& from, const std::string& to,
                             Bytes bytes) {
  return {.source = machine.find_place(from),
          .destination = machine.find_place(to),
          .bytes = bytes,
          .plan = nullptr};
}

// --- by hand ---
// On the hand machine a copy is issued at 1, has a latency of 10 and is known 4 after its end. A
// direct copy from gpu0 to gpu1 of 8000 bytes flows for 10 (0.8 GB/s): 25 in all, alone.

class TogetherByHand : public testing::Test {
 protected:
  Together beside(const ConcurrentTransfers& concurrent, Bytes bytes = 8000_B) {
    return {predictor_, concurrent, direct_, bytes, BothWays::no, 4};
  }
  Together::Outcome natively(const ConcurrentTransfers& concurrent) {
    return beside(concurrent).of(direct_copy(direct_, 8000_B));
  }

  Machine machine_ = hand_machine();
  Predictor predictor_{machine_};
  Path direct_ = path_over(machine_, "direct");
};

TEST_F(TogetherByHand, AloneThereIsNothingToRegret) {
  const auto outcome = natively({});

  EXPECT_EQ(outcome.regret, 1);
  EXPECT_NEAR(outcome.own.time.value, 25e-6, 1e-9);
}

// gpu2 to gpu1 goes at 0.3 GB/s at most, which leaves 0.7 of the ingress: 11 + 8000/700 + 4.
TEST_F(TogetherByHand, ANativeCopyIsWhatRegretIsCountedFrom) {
  const auto outcome = natively({companion(machine_, "gpu2", "gpu1", 8000_B)});

  EXPECT_EQ(outcome.regret, 1);
  EXPECT_NEAR(outcome.own.time.value, 26.43e-6, 1e-8);
}

// A copy that follows on the same thread starts when the call of the plan has returned. One of
// 8000 bytes between other GPUs is over after 1 + 25 natively, and each further us of the call is
// regretted as 1/26. The planned one takes 10 times as many, so that it gains itself.
TEST_F(TogetherByHand, TheCallKeepsWhatFollowsWaiting) {
  ConcurrentTransfer follower = companion(machine_, "gpu0", "gpu2", 8000_B);
  follower.same_thread = true;
  const TransferShape split{
      Executor::stream,
      {shape_over(machine_, "direct", 60000_B), shape_over(machine_, "host0", 20000_B)}};
  const Together together = beside({follower}, 80000_B);

  const auto outcome = together.of(split);

  EXPECT_NEAR(outcome.regret, 1 + (outcome.own.call.value * 1e6 - 1) / 26, 1e-3);
  EXPECT_EQ(together.issued_by_one_thread(), 2);
}

TEST_F(TogetherByHand, WhatIsInFlightDoesNotWaitForTheCall) {
  ConcurrentTransfer other = companion(machine_, "gpu0", "gpu2", 8000_B);
  other.same_thread = other.in_flight = true;
  const TransferShape split{
      Executor::stream,
      {shape_over(machine_, "direct", 4000_B), shape_over(machine_, "host0", 4000_B)}};

  // The split itself ends later than natively: two chunks over slow hops.
  const auto outcome = beside({other}).of(split);

  EXPECT_NEAR(outcome.regret, outcome.own.time.value * 1e6 / 25, 1e-3);
}

// Into gpu1 natively both have 0.5 GB/s, the companion's 4000 bytes end at 11 + 8. With half of the
// planned one through gpu2 three copies share it, unless the relay's arrive later.
TEST_F(TogetherByHand, TheEndThatIsLatestInProportionCounts) {
  const ConcurrentTransfers concurrent{companion(machine_, "host0", "gpu1", 4000_B)};
  const TransferShape split{
      Executor::stream,
      {shape_over(machine_, "direct", 4000_B), shape_over(machine_, "host0", 4000_B, 2)}};

  const auto outcome = beside(concurrent).of(split);

  EXPECT_GT(outcome.regret, 1.1);
}

// --- chains of turns ---

TEST(Chains, AreTurnsWithSomebodyWhoHasToWaitElsewhere) {
  const Machine machine = load_machine("h200x4");
  const auto in_a_chain = [&](const ConcurrentTransfers& concurrent) {
    return takes_turns_in_a_chain(machine, concurrent, find_paths(machine, kGpu0, kGpu1).front());
  };
  const auto to = [&](const char* from, const char* destination) {
    return companion(machine, from, destination, 64_MiB);
  };

  EXPECT_FALSE(in_a_chain({}));
  EXPECT_FALSE(in_a_chain({to("gpu0", "gpu2"), to("gpu0", "gpu3")})) << "one engine, one queue";
  EXPECT_FALSE(in_a_chain({to("gpu2", "gpu1"), to("gpu3", "gpu1")})) << "a port, shared fairly";
  EXPECT_TRUE(in_a_chain({to("gpu0", "gpu2"), to("gpu3", "gpu2")}));
}

// --- plans ---

// Other copies go from or to one of four GPUs, to the planned one's or to others.
TEST(PlannerCompany, MakesNobodyLaterThanNatively) {
  for (const char* name : {"beluga", "mist", "h200x4"}) {
    PlannerRig rig(name);
    const Path direct = find_paths(rig.machine, kGpu0, kGpu1).front();
    for (const char* from : {"gpu0", "gpu1", "gpu2", "host0"})
      for (const char* to : {"gpu0", "gpu1", "gpu3", "host0"}) {
        const ConcurrentTransfer other = companion(rig.machine, from, to, 64_MiB);
        if (other.source == other.destination ||
            (other.source == kGpu0 && other.destination == kGpu1))
          continue;

        const PlanPointer plan = rig.plan(64_MiB, {}, {other});

        const Together together(rig.planner.predictor(), {other}, direct, 64_MiB, BothWays::no,
                                Settings{}.staging_slots);
        EXPECT_LE(together.of(plan->shape).regret, 1.003) << name << ' ' << from << ' ' << to;
        EXPECT_TRUE(covers_once(plan->program, 64_MiB));
      }
  }
}

// A copy from the host to gpu1 needs all of gpu1's PCIe link, which is what gpu0's would relay
// over.
TEST(PlannerCompany, TakesNoLinkThatAnotherNeeds) {
  PlannerRig rig("h200x4");
  const PlaceId host = rig.machine.find_place("host0");
  const auto into_gpu0 = [&](const ConcurrentTransfers& concurrent) {
    return rig.planner.plan(host, kGpu0, 64_MiB, {}, concurrent);
  };

  const PlanPointer beside = into_gpu0({companion(rig.machine, "host0", "gpu1", 64_MiB)});

  EXPECT_TRUE(decision(*into_gpu0({}), "gpu1").included);
  EXPECT_FALSE(decision(*beside, "gpu1").included);
}

// Two into the same host memory and links: the one that has taken the other's half loses its own.
TEST(PlannerCompany, RepairsWhatTheFirstOfABurstHasTaken) {
  PlannerRig rig("mist");
  const PlaceId host = rig.machine.find_place("host0");
  ConcurrentTransfer first = companion(rig.machine, "host0", "gpu0", 16_MiB);
  first.plan = rig.planner.plan(host, kGpu0, 16_MiB, over({"direct", "gpu1"}));
  first.in_flight = true;
  PlanOptions unknown;
  unknown.followers_unknown = true;

  const PlanPointer in_the_first_round = rig.planner.plan(host, kGpu1, 16_MiB, unknown, {first});
  const PlanPointer later = rig.planner.plan(host, kGpu1, 16_MiB, {}, {first});

  EXPECT_GT(used(*in_the_first_round).size(), 1U);
  EXPECT_EQ(used(*later), (Names{"direct"})) << "both would go on like that for ever";
}

// What others would have gained is not known.
TEST(PlannerCompany, LeavesWhatOnlyGainsToThoseWhoMayFollow) {
  PlannerRig rig("beluga");
  const ConcurrentTransfer other = companion(rig.machine, "gpu2", "gpu3", 64_MiB);
  PlanOptions unknown;
  unknown.followers_unknown = true;

  EXPECT_GT(used(*rig.plan(64_MiB, {}, {other})).size(), 1U);
  EXPECT_EQ(used(*rig.plan(64_MiB, unknown, {other})), (Names{"direct"}));
}

// In a loop each plan is made beside the others: they must not differ for ever.
TEST(PlannerCompany, TheSameCopiesInFlightGiveTheSamePlan) {
  PlannerRig rig("beluga");
  PlannerRig elsewhere("beluga");
  ConcurrentTransfer first = companion(rig.machine, "gpu2", "gpu3", 64_MiB);
  first.plan = rig.planner.plan({2}, {3}, 64_MiB);
  ConcurrentTransfer second = first;
  second.plan = elsewhere.planner.plan({2}, {3}, 64_MiB);
  ASSERT_NE(first.plan, second.plan);

  EXPECT_EQ(rig.plan(64_MiB, {}, {first}), rig.plan(64_MiB, {}, {second}));
}

TEST(PlannerCompany, OfTooManyLeavesOneNativeCopy) {
  PlannerRig rig("dgx-a100");
  ConcurrentTransfers concurrent;
  for (int from = 0; from < 8; ++from)
    for (int to = 0; to < 8; ++to)
      if (from != to && (from > 1 || to > 1))
        concurrent.push_back(
            {.source = {from}, .destination = {to}, .bytes = 64_MiB, .plan = nullptr});

  const PlanPointer plan = rig.plan(256_MiB, {}, concurrent);

  EXPECT_EQ(plan->executor(), Executor::native);
  EXPECT_GT(concurrent.size(), kMostConcurrent);
}

// One thread issues both ways: the second waits until the parts of the first have been issued.
TEST(PlannerCompany, BothWaysByOneThreadMustPayForTheCalls) {
  PlannerRig rig("h200x4");
  const auto both_ways = [](BothWays by) {
    PlanOptions options;
    options.both_ways = by;
    return options;
  };

  EXPECT_NE(rig.plan(256_MiB, both_ways(BothWays::by_threads))->executor(), Executor::native);
  EXPECT_EQ(rig.plan(256_MiB, both_ways(BothWays::by_one_thread))->executor(), Executor::native);
  EXPECT_NE(rig.plan(2_GiB, both_ways(BothWays::by_one_thread))->executor(), Executor::native);
}

TEST(PlannerCompany, IsPartOfTheCacheKey) {
  PlannerRig rig("beluga");
  const ConcurrentTransfer other = companion(rig.machine, "gpu2", "gpu3", 64_MiB);
  ConcurrentTransfer larger = other;
  larger.bytes = 128_MiB;

  const PlanPointer plan = rig.plan(64_MiB, {}, {other});

  EXPECT_EQ(rig.plan(64_MiB, {}, {other}), plan);
  EXPECT_NE(rig.plan(64_MiB), plan);
  EXPECT_NE(rig.plan(64_MiB, {}, {larger}), plan);
}

TEST(PlannerCompany, SaysWhyAPathIsNotTaken) {
  PlannerRig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB, {}, {companion(rig.machine, "gpu0", "gpu2", 64_MiB)});

  EXPECT_THAT(decision(*plan, "gpu2").reason, HasSubstr("a transfer in flight"));
}

TEST(SizeClass, KeepsThreeDigitsAfterTheFirst) {
  EXPECT_EQ(size_class(64_MiB), 64_MiB);
  EXPECT_EQ(size_class(64_MiB + 7_MiB), 64_MiB);
  EXPECT_EQ(size_class(72_MiB), 72_MiB);
}

}  // namespace
}  // namespace polypath::test::company_test
