// From which size on messages are planned, where no setting says so.

#include <gmock/gmock.h>

#include "core/text.h"
#include "plan/planning.h"
#include "support/effort.h"

namespace polypath::test::smallest_test {
namespace {

using Rig = PlannerRig;

struct Way {
  PlaceId source;
  PlaceId destination;
};

// One of each kind that the machine has.
std::vector<Way> ways_of(const Machine& machine) {
  const PlaceId host = machine.places_of(PlaceKind::host).front();
  return {{kGpu0, kGpu1}, {kGpu1, kGpu0}, {host, kGpu0}, {kGpu0, host}};
}

bool is_split(Planner& planner, const Way& way, Bytes bytes) {
  return planner.plan(way.source, way.destination, bytes)->executor() != Executor::native;
}

TEST(SmallestPlanned, IsWhereSeveralPathsBeginToPay) {
  for (const std::string& name : zoo_and_synthetic(test::short_or_long(3, 10))) {
    Rig rig(name);
    for (const Way& way : ways_of(rig.machine)) {
      SCOPED_TRACE(name + " from " + rig.machine.place(way.source).name);

      const Bytes smallest = rig.planner.smallest_planned(way.source, way.destination, 1_MiB);

      EXPECT_GE(smallest, rig.planner.least_smallest_planned());
      EXPECT_LE(smallest, kAlwaysPlanned);
      EXPECT_FALSE(is_split(rig.planner, way, smallest - 1_B));
      if (smallest < kAlwaysPlanned) EXPECT_TRUE(is_split(rig.planner, way, smallest));
    }
  }
}

// 1.5 MiB to a GPU of beluga over one link take 130 us.
TEST(SmallestPlanned, LetsCopiesOfLessThanTwoMebibytesGain) {
  Rig rig("beluga");
  const PlaceId host = rig.machine.places_of(PlaceKind::host).front();

  const PlanPointer plan = rig.planner.plan(host, kGpu0, 1536_KiB);

  EXPECT_GT(plan->native_predicted / plan->predicted, 1.85);
}

// 10 us are more than a copy of that size can gain behind a switch.
TEST(SmallestPlanned, IsAsLargeAsCanBeBehindASwitch) {
  for (const char* name : {"h200x4", "h200x8"}) {
    Rig rig(name);

    EXPECT_EQ(rig.planner.smallest_planned(kGpu0, kGpu1, 1_MiB), kAlwaysPlanned);
    EXPECT_EQ(rig.planner.smallest_planned(kGpu1, kGpu0, 1_MiB), kAlwaysPlanned);
  }
}

TEST(SmallestPlanned, IsTheSettingWhereThereIsOne) {
  Settings settings;
  settings.min_message = 32_MiB;
  Rig rig("beluga", settings);

  EXPECT_EQ(rig.planner.smallest_planned(kGpu0, kGpu1, 1_MiB), 32_MiB);
  EXPECT_EQ(rig.planner.least_smallest_planned(), 32_MiB);
}

TEST(SmallestPlanned, IsAsLargeAsCanBeWithoutOtherPaths) {
  Settings settings;
  settings.max_paths = 1;
  Rig rig("beluga", settings);
  PlanOptions natively = with_executor(Executor::native);

  EXPECT_EQ(rig.planner.smallest_planned(kGpu0, kGpu1, 1_MiB), kAlwaysPlanned);
  EXPECT_EQ(Rig("beluga").planner.smallest_planned(kGpu0, kGpu1, 1_MiB, natively), kAlwaysPlanned);
}

TEST(SmallestPlanned, IsNamedByTheReasons) {
  Rig rig("beluga");
  const PlaceId host = rig.machine.places_of(PlaceKind::host).front();
  const Bytes smallest = rig.planner.smallest_planned(host, kGpu0, 64_KiB);

  const PlanPointer plan = rig.planner.plan(host, kGpu0, 64_KiB);

  EXPECT_THAT(plan->decisions.back().reason,
              testing::StartsWith("messages below " + describe_bytes(smallest)));
}

}  // namespace
}  // namespace polypath::test::smallest_test
