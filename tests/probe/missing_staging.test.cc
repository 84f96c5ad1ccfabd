// A calibration that misses a staging latency says so, and tries hard not to.

#include <gmock/gmock.h>

#include "probe/calibrated.h"
#include "support/forwarding_driver.h"

namespace polypath::test::missing_staging_test {
namespace {

using testing::HasSubstr;

// Copies over the machine's staging places that go on at once, so that nothing is left to be seen.
Machine without_staging_costs(Machine machine) {
  for (Place& place : machine.places) place.staging_latency = place.relay_latency = {};
  return machine;
}

probe::Calibration calibrated_on(Driver& driver, const Machine& nominal) {
  return probe::calibrate(driver, nominal, kOptions);
}

class MissingStaging : public testing::Test {
 protected:
  Machine nominal_ = load_machine("h200x4");
  sim::SimDriver driver_{without_staging_costs(nominal_), kTimingOnly};
  probe::Calibration calibration_ = calibrated_on(driver_, nominal_);
};

TEST_F(MissingStaging, IsMarkedAndLeavesTheNominalNumber) {
  for (std::size_t p = 0; p < nominal_.places.size(); ++p) {
    const Place& place = calibration_.machine.places[p];
    EXPECT_TRUE(place.staging_missing) << place.name;
    EXPECT_EQ(place.staging_latency, nominal_.places[p].staging_latency);
    EXPECT_THAT(calibration_.provenance.places[p], HasSubstr("staging latency not found"));
  }
}

TEST_F(MissingStaging, SurvivesTheFile) {
  const Machine again =
      parse_machine(machine_to_json(calibration_.machine, calibration_.provenance), "file");

  EXPECT_EQ(again.places_without_staging(), calibration_.machine.places_without_staging());
}

TEST_F(MissingStaging, IsSaidWithWhatFollowsAndWhatToDo) {
  const std::string said = probe::incompleteness(calibration_.machine);

  EXPECT_THAT(said, HasSubstr("incomplete"));
  EXPECT_THAT(said, HasSubstr("gpu0, gpu1, gpu2, gpu3, host0"));
  EXPECT_THAT(said, HasSubstr("run 'polypath calibrate' again"));
  EXPECT_EQ(probe::incompleteness(nominal_), "");
}

// Places that no path can be staged at lack nothing.
TEST(CompleteStaging, NeedsNothingOfPlacesWithoutPathsOverThem) {
  Machine machine = load_machine("h200x4");
  machine.places.erase(machine.places.begin() + 1, machine.places.end() - 1);
  const PlaceId host{1};
  std::vector<Hop> hops;
  for (Hop hop : machine.hops) {
    const bool from = hop.source == PlaceId{0} && hop.destination == PlaceId{4};
    const bool to = hop.source == PlaceId{4} && hop.destination == PlaceId{0};
    if (!from && !to) continue;
    (from ? hop.destination : hop.source) = host;
    hops.push_back(hop);
  }
  machine.hops = hops;

  EXPECT_TRUE(calibrated(machine).machine.places_without_staging().empty());
}

/// A GPU driver on whose clock a chunk now and then seems to take less than it did.
class SluggishClock : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;

  // Every so many looks at the clock it jumps back by some microseconds.
  Seconds now() override {
    const Seconds real = ForwardingDriver::now();
    if (++looks_ % 97 < 40) return real + 6_us;
    return real;
  }

 private:
  int looks_ = 0;
};

TEST(CompleteStaging, IsFoundThoughTheClockIsUnsteady) {
  const Machine machine = load_machine("h200x4");
  sim::SimDriver driver(machine, kTimingOnly);
  SluggishClock clock(driver);
  probe::CalibrationOptions options = kOptions;
  options.trust.most_spread = 0.5;

  const Machine found = probe::calibrate(clock, machine, options).machine;

  EXPECT_TRUE(found.places_without_staging().empty());
}

}  // namespace
}  // namespace polypath::test::missing_staging_test
