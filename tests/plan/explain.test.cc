// Why each path of a plan is in or out.

#include "plan/single/explain.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>

#include "plan/planning.h"
#include "support/effort.h"
#include "support/random.h"

namespace polypath::test::explain_test {
namespace {

using Rig = PlannerRig;

void expect_explained(const PathDecision& decision) {
  SCOPED_TRACE(decision.name + ": " + decision.reason);
  EXPECT_TRUE(std::any_of(decision.reason.begin(), decision.reason.end(),
                          [](unsigned char letter) { return std::isdigit(letter); }));
  EXPECT_EQ(decision.reason.find('\n'), std::string::npos);
  EXPECT_GT(decision.predicted.value, 0);
  EXPECT_EQ(decision.included, decision.bytes > 0_B);
  EXPECT_EQ(decision.included, decision.chunks > 0);
}

TEST(Decisions, GiveEveryPathAReasonWithANumber) {
  for (const std::string& name : zoo_and_synthetic(10)) {
    SCOPED_TRACE(name);
    Rig rig(name);
    for (const Bytes bytes : {4_KiB, 1_MiB, 64_MiB}) {
      const PlanPointer plan = rig.plan(bytes);

      const auto paths = find_paths(rig.machine, kGpu0, kGpu1);
      ASSERT_EQ(plan->decisions.size(), paths.size());
      for (std::size_t p = 0; p < paths.size(); ++p) {
        EXPECT_EQ(plan->decisions[p].path, paths[p]);
        expect_explained(plan->decisions[p]);
      }
    }
  }
}

TEST(Decisions, NameWhatGpuPathsShareBehindASwitch) {
  Rig rig("h200x4");

  const PlanPointer plan = rig.plan(64_MiB);

  for (const std::string name : {"gpu2", "gpu3"}) {
    const PathDecision& relay = decision(*plan, name);
    EXPECT_FALSE(relay.included);
    EXPECT_TRUE(relay.reason.starts_with("gpu0.peer_engine") ||
                relay.reason.starts_with("gpu0.egress") || relay.reason.starts_with("gpu1.ingress"))
        << relay.reason;
    EXPECT_GT(relay.predicted, plan->predicted);
  }
}

// What one path more may save without being worth it: see is_worth_a_path.
Seconds least_saving(const Planner& planner, const Plan& plan) {
  const Seconds call = planner.predictor().call_time(plan.shape, planner.settings().staging_slots);
  return plan.predicted * kAlike + call * kCallWeight;
}

// No faster plan than the chosen one is shown without a reason why it was not chosen.
void expect_no_better_plan(Planner& planner, const Plan& plan, const PlanOptions& options) {
  const bool native = plan.executor() == Executor::native;
  const Path& direct = plan.decisions.front().path;
  const Seconds to_beat =
      planner.to_beat(direct, plan.bytes, plan.native_predicted, options.both_ways);
  for (const PathDecision& path : plan.decisions) {
    if (path.included || path.predicted >= plan.predicted) continue;
    SCOPED_TRACE(path.name + ": " + path.reason);
    if (path.reason.starts_with("messages below")) {
      EXPECT_LT(plan.bytes, kAlwaysPlanned);
    } else if (native) {
      EXPECT_THAT(path.reason, testing::StartsWith("gains less than"));
      EXPECT_GE(path.predicted, to_beat);
    } else {
      EXPECT_THAT(path.reason, testing::StartsWith("saves less than"));
      EXPECT_GE(path.predicted, plan.predicted - least_saving(planner, plan));
    }
  }
}

TEST(Decisions, NeverShowABetterPlanThanTheChosenOne) {
  for (const std::string& name : zoo_and_synthetic(test::short_or_long(6, 30))) {
    Rig rig(name);
    Random random(7);
    for (int round = 0; round < test::short_or_long(3, 6); ++round) {
      const Hop& hop = random.pick(rig.machine.hops);
      const Bytes bytes{random.between(1 << 19, 1 << 21) << random.integer(0, 7)};
      PlanOptions options;
      if (random.chance(50)) options.both_ways = BothWays::by_processes;
      SCOPED_TRACE(name + " " + rig.machine.place(hop.source).name + " to " +
                   rig.machine.place(hop.destination).name + " " + std::to_string(bytes.value));

      const PlanPointer plan = rig.planner.plan(hop.source, hop.destination, bytes, options);

      expect_no_better_plan(rig.planner, *plan, options);
    }
  }
}

// A third path saves 4 % there that the search for the size class does not find.
TEST(Decisions, AreNotOfAPlanThatOnePathMoreImproves) {
  Rig rig("synthetic:15");
  PlanOptions options;
  options.both_ways = BothWays::by_processes;

  const PlanPointer plan = rig.planner.plan(kGpu1, kGpu0, 16_MiB, options);

  EXPECT_LT(plan->predicted, 226.1_us);
}

TEST(Decisions, SayWhatTheSettingsLeaveOut) {
  Settings settings;
  settings.exclude = {"gpu2"};
  Rig rig("beluga", settings);

  const PlanPointer plan = rig.plan(64_MiB);

  EXPECT_EQ(decision(*plan, "gpu2").reason, "left out by the settings");
}

TEST(Decisions, SayHowManyPathsThereMayBe) {
  Settings settings;
  settings.max_paths = 2;
  Rig rig("beluga", settings);

  const PlanPointer plan = rig.plan(64_MiB);

  EXPECT_THAT(plan->decisions.back().reason, testing::HasSubstr("no more than 2 paths"));
}

TEST(Decisions, SayThatANativeCopyWasAskedFor) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB, with_executor(Executor::native));

  EXPECT_EQ(decision(*plan, "gpu2").reason, "one native copy was asked for");
}

TEST(Decisions, NameTheSmallestMessage) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(512_KiB);

  EXPECT_NE(decision(*plan, "gpu2").reason.find("below 2 MiB"), std::string::npos);
}

TEST(Decisions, NameTheLeastGain) {
  Settings settings;
  settings.min_gain = 5;
  Rig rig("beluga", settings);

  const PlanPointer plan = rig.plan(64_MiB);

  // Six times as fast as one native copy: five sixths of its 1.408 ms.
  EXPECT_THAT(decision(*plan, "gpu2").reason, testing::HasSubstr("gains less than the 1.176 ms"));
}

TEST(Decisions, SayWhatWasForced) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB, over({"direct", "gpu2"}));

  EXPECT_TRUE(decision(*plan, "gpu2").reason.starts_with("by request"));
  EXPECT_EQ(decision(*plan, "gpu3").reason, "not among the paths asked for");
}

TEST(Decisions, OfIncludedPathsEndNoLaterThanThePlan) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB);

  for (const PathDecision& part : plan->decisions) EXPECT_LE(part.predicted, plan->predicted);
}

}  // namespace
}  // namespace polypath::test::explain_test
