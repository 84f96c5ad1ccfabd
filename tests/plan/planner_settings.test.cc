// What the POLYPATH_* settings do to plans.

#include <gtest/gtest.h>

#include "plan/planning.h"
#include "support/layers.h"

namespace polypath::test::planner_settings_test {
namespace {

using Rig = PlannerRig;

TEST(PlannerSettings, IncludeNamesTheOnlyOtherPaths) {
  Settings settings;
  settings.include = {"gpu3"};

  EXPECT_EQ(used(*Rig("beluga", settings).plan(256_MiB)), (Names{"direct", "gpu3"}));
}

TEST(PlannerSettings, IncludeKnowsHost) {
  Settings settings;
  settings.include = {"host"};

  EXPECT_EQ(used(*Rig("beluga", settings).plan(256_MiB)), (Names{"direct", "host0"}));
}

TEST(PlannerSettings, ExcludeLeavesTheOthers) {
  Settings settings;
  settings.exclude = {"gpu2", "host"};

  EXPECT_EQ(used(*Rig("beluga", settings).plan(256_MiB)), (Names{"direct", "gpu3"}));
}

TEST(PlannerSettings, ExcludeWinsOverInclude) {
  Settings settings;
  settings.include = settings.exclude = {"gpu2"};

  EXPECT_EQ(used(*Rig("beluga", settings).plan(256_MiB)), Names{"direct"});
}

TEST(PlannerSettings, ForcedPathsIgnoreExclude) {
  Settings settings;
  settings.exclude = {"gpu2"};

  EXPECT_EQ(used(*Rig("beluga", settings).plan(256_MiB, over({"gpu2"}))), Names{"gpu2"});
}

TEST(PlannerSettings, MaxPathsBoundsThePaths) {
  Settings settings;
  for (int most = 1; most <= 4; ++most) {
    settings.max_paths = most;

    const PlanPointer plan = Rig("beluga", settings).plan(256_MiB);

    EXPECT_EQ(used(*plan).size(), static_cast<std::size_t>(most));
  }
}

TEST(PlannerSettings, MinMessageBoundsTheNativeCopies) {
  Settings settings;
  settings.min_message = 32_MiB;
  Rig rig("beluga", settings);

  EXPECT_EQ(rig.plan(32_MiB - 1_B)->executor(), Executor::native);
  EXPECT_NE(rig.plan(32_MiB)->executor(), Executor::native);
}

// Four paths of beluga gain 181 % at 64 MiB.
TEST(PlannerSettings, MinGainBoundsWhatIsWorthSeveralPaths) {
  Settings settings;
  settings.min_gain = 1.5;
  EXPECT_NE(Rig("beluga", settings).plan(64_MiB)->executor(), Executor::native);

  settings.min_gain = 2.5;
  EXPECT_EQ(Rig("beluga", settings).plan(64_MiB)->executor(), Executor::native);
}

TEST(PlannerSettings, ChunksFitTheSlotsAndTheRing) {
  Settings settings;
  settings.staging_slot = 256_KiB;
  settings.staging_slots = 2;

  const PlanPointer plan = Rig("beluga", settings).plan(64_MiB);

  EXPECT_GT(used(*plan).size(), 1U);
  for (const Node& node : plan->program.nodes())
    if (plan->program.buffer(node.destination).is_scratch()) EXPECT_LE(node.bytes, 256_KiB);
  for (const ProgramBuffer& buffer : plan->program.buffers()) EXPECT_LT(buffer.slot, 2);
}

}  // namespace
}  // namespace polypath::test::planner_settings_test
