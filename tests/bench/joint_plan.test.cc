// A request's joint plan is the planner's, to the last bit.

#include <gtest/gtest.h>

#include "bench/reports.h"
#include "context/reports.h"
#include "machine/load_machine.h"
#include "plan/joint/joint.h"

namespace polypath::bench::joint_plan_test {
namespace {

TEST(JointPlanReport, IsOfWhatThePlannerPlans) {
  const Machine machine = load_machine("beluga");
  const std::vector<JointTransfer> transfers{{PlaceId{0}, PlaceId{1}, 64_MiB},
                                             {PlaceId{1}, PlaceId{0}, 16_MiB}};
  Planner planner(machine, {});
  const JointOptions options{.issuers = Issuers::threads, .executor = Executor::stream};
  const JointPlanPointer plan = JointPlanner(planner).plan(transfers, options);

  const std::string report = joint_plan_report(
      R"({"machine": "beluga", "issuers": "threads", "executor": "stream", "transfers": [
          {"source": "gpu0", "destination": "gpu1", "bytes": 67108864},
          {"source": "gpu1", "destination": "gpu0", "bytes": 16777216}]})");

  EXPECT_EQ(
      report,
      context::joint_plan_report(
          {.machine = machine, .simulated = true, .issuers = Issuers::threads, .plan = *plan}));
}

}  // namespace
}  // namespace polypath::bench::joint_plan_test
