// What is said of a set's plan: its own numbers, and of each transfer what is said of one alone.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "context/reports.h"
#include "machine/load_machine.h"
#include "plan/joint/patterns.h"
#include "support/layers.h"

namespace polypath::test::joint_report_test {
namespace {

using Json = nlohmann::json;

// A ring on beluga, planned.
struct PlannedRing {
  Machine machine = load_machine("beluga");
  Planner planner{machine, Settings{}};
  JointPlanPointer plan = JointPlanner(planner).plan(pattern_of(machine, "ring", 16_MiB));

  [[nodiscard]] Json report(const std::string& pattern, Issuers issuers) const {
    return Json::parse(joint_plan_report({.machine = machine,
                                          .simulated = true,
                                          .pattern = pattern,
                                          .issuers = issuers,
                                          .plan = *plan}));
  }
};

TEST(JointPlanReport, HasTheNumbersOfTheSet) {
  const PlannedRing ring;

  const Json report = ring.report("ring", Issuers::threads);

  EXPECT_EQ(report.at("schema"), "polypath.joint_plan/1");
  EXPECT_EQ(report.at("pattern"), "ring");
  EXPECT_EQ(report.at("issuers"), "threads");
  EXPECT_EQ(report.at("simulated"), true);
  EXPECT_EQ(report.at("predicted_seconds"), ring.plan->predicted.value);
  EXPECT_EQ(report.at("native_seconds"), ring.plan->native_predicted.value);
  EXPECT_EQ(report.at("flow_bound_seconds"), ring.plan->flow_bound.value);
  EXPECT_EQ(report.at("call_seconds"), ring.plan->calls.value);
  EXPECT_EQ(report.at("order"), Json(ring.plan->order));
}

TEST(JointPlanReport, HasNoPatternWhereTransfersWereNamed) {
  EXPECT_TRUE(PlannedRing().report("", Issuers::one_thread).at("pattern").is_null());
}

TEST(JointPlanReport, SaysOfEachTransferWhatIsSaidOfOneAlone) {
  const PlannedRing ring;

  const Json transfers = ring.report("ring", Issuers::one_thread).at("transfers");

  ASSERT_EQ(transfers.size(), ring.plan->plans.size());
  for (std::size_t k = 0; k < transfers.size(); ++k) {
    Json alone = Json::parse(plan_report(ring.machine, *ring.plan->plans[k]));
    alone.erase("schema");
    alone.erase("machine");
    EXPECT_EQ(transfers[k], alone);
  }
}

}  // namespace
}  // namespace polypath::test::joint_report_test
