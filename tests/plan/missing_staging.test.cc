// Machines that were calibrated without finding the staging latency of a place.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/planning.h"
#include "support/layers.h"

namespace polypath::test::missing_staging_test {
namespace {

using testing::HasSubstr;

Machine lacking(const std::string& place) {
  Machine machine = load_machine("beluga");
  machine.places[machine.find_place(place).index()].staging_missing = true;
  return machine;
}

TEST(MissingStaging, KeepsPlansOffThePlace) {
  PlannerRig complete("beluga");
  PlannerRig incomplete(lacking("host0"));

  const PlanPointer plan = incomplete.plan(64_MiB);

  EXPECT_TRUE(decision(*complete.plan(64_MiB), "host0").included);
  EXPECT_EQ(used(*plan), (Names{"direct", "gpu2", "gpu3"}));
}

TEST(MissingStaging, IsTheReasonThatIsGiven) {
  PlannerRig rig(lacking("host0"));

  const PlanPointer plan = rig.plan(64_MiB);

  EXPECT_THAT(decision(*plan, "host0").reason,
              HasSubstr("the calibration found no staging latency of host0"));
  EXPECT_THAT(decision(*plan, "host0").reason, HasSubstr("run 'polypath calibrate' again"));
}

TEST(MissingStaging, LeavesWhatTheCallerAsksFor) {
  PlannerRig rig(lacking("host0"));

  const PlanPointer plan = rig.plan(64_MiB, over({"direct", "host"}));

  EXPECT_EQ(used(*plan), (Names{"direct", "host0"}));
}

TEST(MissingStaging, DoesNotConcernTransfersThatEndThere) {
  PlannerRig rig(lacking("host0"));
  const PlaceId host = rig.machine.find_place("host0");

  const PlanPointer plan = rig.planner.plan(host, kGpu0, 256_MiB);

  EXPECT_GT(used(*plan).size(), 1U);
}

}  // namespace
}  // namespace polypath::test::missing_staging_test
