#pragma once
// Calibration of simulated machines, for tests.

#include <gtest/gtest.h>

#include <string>

#include "driver/sim/sim_driver.h"
#include "machine/load_machine.h"
#include "probe/calibrate.h"
#include "support/layers.h"

namespace polypath::test {

/// No bytes are moved: only times count.
using sim::kTimingOnly;

inline const probe::CalibrationOptions kOptions{{}, "2026-01-02"};

inline probe::Calibration calibrated(const Machine& machine) {
  sim::SimDriver driver(machine, kTimingOnly);
  return probe::calibrate(driver, machine, kOptions);
}

/// Within `fraction` of what is expected; both 0 is as well.
inline testing::AssertionResult within(double fraction, double measured, double expected) {
  const double difference = measured > expected ? measured - expected : expected - measured;
  if (difference <= fraction * expected) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "measured " << measured << ", expected " << expected
                                     << ": off by " << 100 * difference / expected << " %";
}

}  // namespace polypath::test
