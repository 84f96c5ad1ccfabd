// What every plan keeps: each byte once, and never slower than predicted for the native copy.

#include <gtest/gtest.h>

#include "model/coverage.h"
#include "plan/planning.h"
#include "support/effort.h"
#include "support/random.h"

namespace polypath::test::every_plan_test {
namespace {

using Rig = PlannerRig;

void expect_sound(const Machine& machine, const Plan& plan) {
  EXPECT_TRUE(covers_once(plan.program, plan.bytes));
  EXPECT_EQ(plan.shape.total(), plan.bytes);
  EXPECT_EQ(plan.structure, structure_of(plan.program));
  EXPECT_EQ(plan.decisions.size(), find_paths(machine, plan.source, plan.destination).size());
  Bytes carried;
  for (const PathDecision& part : plan.decisions) carried += part.bytes;
  EXPECT_EQ(carried, plan.bytes);
}

TEST(EveryPlan, CarriesTheMessageExactlyForOddSizes) {
  for (const std::string& name : zoo_names()) {
    SCOPED_TRACE(name);
    Rig rig(name);
    for (const Bytes bytes : {1_B, 511_B, 1_MiB + 1_B, 64_MiB - 1_B, 123456789_B}) {
      SCOPED_TRACE(bytes.value);

      expect_sound(rig.machine, *rig.plan(bytes));
      expect_sound(rig.machine, *rig.plan(bytes, split({{"direct", 0.7}, {"host", 0.3}})));
      expect_sound(rig.machine, *rig.plan(bytes, over({"direct", "host"})));
    }
  }
}

TEST(EveryPlan, IsPredictedNoSlowerThanTheNativeCopy) {
  for (const std::string& name : zoo_and_synthetic(test::short_or_long(12, 30))) {
    SCOPED_TRACE(name);
    Rig rig(name);
    Random random(1);
    for (int round = 0; round < 3; ++round) {
      const Hop& hop = random.pick(rig.machine.hops);
      const Bytes bytes{random.between(1, 1 << 20) << random.integer(0, 9)};

      const PlanPointer plan = rig.planner.plan(hop.source, hop.destination, bytes);

      SCOPED_TRACE(bytes.value);
      expect_sound(rig.machine, *plan);
      if (plan->executor() == Executor::native) EXPECT_EQ(plan->predicted, plan->native_predicted);
      else
        EXPECT_LT(plan->predicted * (1 + rig.planner.settings().min_gain),
                  plan->native_predicted * (1 + 1e-9));
    }
  }
}

}  // namespace
}  // namespace polypath::test::every_plan_test
