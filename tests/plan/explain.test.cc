// Why each path of a plan is in or out.

#include "plan/explain.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>

#include "plan/planning.h"

namespace polypath::test {
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
  EXPECT_THAT(decision(*plan, "gpu2").reason, testing::HasSubstr("gains less than the 1.173 ms"));
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
}  // namespace polypath::test
