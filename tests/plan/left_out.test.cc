// Places that the engine leaves out as relays.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/machine.h"
#include "model/coverage.h"
#include "plan/planning.h"
#include "support/layers.h"

namespace polypath::test::left_out_test {
namespace {

using Rig = PlannerRig;
using testing::HasSubstr;
using testing::Not;

PlanOptions without(const Names& names, const Machine& machine,
                    LeftOutBecause why = LeftOutBecause::preparation_failed) {
  PlanOptions options;
  for (const std::string& name : names) options.left_out.add(machine.find_place(name), why);
  return options;
}

TEST(PlaceSet, HoldsWhatWasInserted) {
  PlaceSet set;
  set.insert(PlaceId{0});
  set.insert(PlaceId{62});

  EXPECT_TRUE(set.contains(PlaceId{0}));
  EXPECT_TRUE(set.contains(PlaceId{62}));
  EXPECT_FALSE(set.contains(PlaceId{1}));
  EXPECT_FALSE(set.contains(PlaceId{63}));
}

TEST(PlaceSet, TakesPlacesBeyondItsBitsTogether) {
  PlaceSet set;
  set.insert(PlaceId{200});

  EXPECT_TRUE(set.contains(PlaceId{63}));
  EXPECT_TRUE(set.contains(PlaceId{64}));
  EXPECT_FALSE(set.contains(PlaceId{62}));
}

TEST(LeftOutRelays, GiveTheFirstReasonOfAPlace) {
  LeftOutRelays relays;
  relays.add(PlaceId{2}, LeftOutBecause::must_not_wait_for_program);
  relays.add(PlaceId{2}, LeftOutBecause::exclusive_compute_mode);

  EXPECT_EQ(relays.reason(PlaceId{2}), LeftOutBecause::exclusive_compute_mode);
  EXPECT_EQ(relays.reason(PlaceId{1}), std::nullopt);
}

TEST(PlannerLeavesOut, APlaceButNotTheOthers) {
  Rig rig("beluga");
  ASSERT_EQ(used(*rig.plan(64_MiB)), (Names{"direct", "gpu2", "gpu3", "host0"}));

  const PlanPointer plan = rig.plan(64_MiB, without({"gpu2"}, rig.machine));

  EXPECT_EQ(used(*plan), (Names{"direct", "gpu3", "host0"}));
  EXPECT_TRUE(covers_once(plan->program, 64_MiB));
}

TEST(PlannerLeavesOut, AllRelaysSoThatOneNativeCopyRemains) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB, without({"gpu2", "gpu3", "host0"}, rig.machine));

  EXPECT_EQ(plan->executor(), Executor::native);
}

TEST(PlannerLeavesOut, NeitherEndOfTheTransfer) {
  Rig rig("beluga");

  const PlanPointer plan = rig.plan(64_MiB, without({"gpu0", "gpu1"}, rig.machine));

  EXPECT_EQ(used(*plan), used(*rig.plan(64_MiB)));
}

TEST(PlannerLeavesOut, SayingWhy) {
  Rig rig("beluga");
  const auto reason_for = [&](LeftOutBecause why) {
    return decision(*rig.plan(64_MiB, without({"gpu2"}, rig.machine, why)), "gpu2").reason;
  };

  EXPECT_THAT(reason_for(LeftOutBecause::exclusive_compute_mode),
              HasSubstr("left out by the engine: its compute mode"));
  EXPECT_THAT(reason_for(LeftOutBecause::preparation_failed),
              HasSubstr("left out by the engine: it could not be prepared"));
  EXPECT_THAT(reason_for(LeftOutBecause::must_not_wait_for_program),
              HasSubstr("left out by the engine: nothing there may wait"));
  EXPECT_THAT(reason_for(LeftOutBecause::waits_for_reads),
              HasSubstr("left out by the engine: copies to it would wait"));
  EXPECT_THAT(reason_for(LeftOutBecause::being_prepared),
              HasSubstr("left out by the engine: it is being prepared"));
}

TEST(PlannerLeavesOut, APlaceThatTheCallerForces) {
  Rig rig("beluga");
  PlanOptions forced = without({"gpu2"}, rig.machine);
  forced.paths = {"direct", "gpu2"};
  PlanOptions split = without({"gpu2"}, rig.machine);
  split.shares = {{"direct", 0.5}, {"gpu2", 0.5}};

  EXPECT_EQ(rig.plan(64_MiB, forced)->executor(), Executor::native);
  EXPECT_EQ(rig.plan(64_MiB, split)->executor(), Executor::native);
  EXPECT_THAT(decision(*rig.plan(64_MiB, forced), "gpu2").reason, HasSubstr("left out"));
}

TEST(PlannerLeavesOut, NothingOfForcedPathsElsewhere) {
  Rig rig("beluga");
  PlanOptions options = without({"gpu3"}, rig.machine);
  options.paths = {"direct", "gpu2"};

  EXPECT_EQ(used(*rig.plan(64_MiB, options)), (Names{"direct", "gpu2"}));
}

TEST(PlannerLeavesOut, AsPartOfTheCacheKey) {
  Rig rig("beluga");

  const PlanPointer all = rig.plan(64_MiB);
  const PlanPointer fewer = rig.plan(64_MiB, without({"gpu2"}, rig.machine));

  EXPECT_NE(all, fewer);
  EXPECT_EQ(rig.plan(64_MiB, without({"gpu2"}, rig.machine)), fewer);
  EXPECT_EQ(rig.plan(64_MiB), all);
  EXPECT_THAT(decision(*all, "gpu2").reason, Not(HasSubstr("left out")));
}

}  // namespace
}  // namespace polypath::test::left_out_test
