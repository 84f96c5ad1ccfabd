// Which requests share a plan.

#include <gtest/gtest.h>

#include "plan/planning.h"
#include "support/layers.h"

namespace polypath::test::planner_cache_test {
namespace {

using Rig = PlannerRig;

TEST(PlannerCache, GivesTheSamePlanForTheSameRequest) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB);

  EXPECT_EQ(rig.plan(64_MiB), plan);
  EXPECT_EQ(rig.planner.cached_plans(), 1U);
}

TEST(PlannerCache, TellsRequestsApart) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB);

  EXPECT_NE(rig.plan(64_MiB + 1_B), plan);
  EXPECT_NE(rig.plan(64_MiB, with_executor(Executor::stream)), plan);
  EXPECT_NE(rig.plan(64_MiB, chunked({{"gpu2", 3}})), plan);
  EXPECT_NE(rig.planner.plan(kGpu1, kGpu0, 64_MiB), plan);
  EXPECT_EQ(rig.planner.cached_plans(), 5U);
}

TEST(PlannerCache, IsBounded) {
  Settings settings;
  settings.plan_cache = 2;
  Rig rig("beluga", settings);

  const PlanPointer first = rig.plan(1_MiB);
  rig.plan(2_MiB);
  rig.plan(4_MiB);

  EXPECT_EQ(rig.planner.cached_plans(), 2U);
  EXPECT_EQ(first->bytes, 1_MiB) << "a plan in use outlives the cache's interest";
}

TEST(PlannerCache, GivesTheSamePlanWhateverWasPlannedBefore) {
  Rig fresh("beluga");
  Rig used("beluga");
  for (const Bytes bytes : {1_MiB, 60_MiB, 63_MiB, 64_MiB + 4_KiB, 1_GiB}) used.plan(bytes);

  EXPECT_EQ(used.plan(64_MiB)->structure, fresh.plan(64_MiB)->structure);
}

TEST(PlannerCache, NeighbouringSizesHaveNearlyTheSameShares) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB);
  const PlanPointer next = rig.plan(64_MiB + 512_B);

  ASSERT_EQ(used(*plan), used(*next));
  for (const PathDecision& part : plan->decisions) {
    EXPECT_NEAR(decision(*next, part.name).share, part.share, 1e-4) << part.name;
    EXPECT_EQ(decision(*next, part.name).chunks, part.chunks) << part.name;
  }
}

}  // namespace
}  // namespace polypath::test::planner_cache_test
