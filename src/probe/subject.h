#pragma once
// What there is to calibrate: a driver, and the structure of its machine.

#include <memory>
#include <string>

#include "core/settings.h"
#include "driver/driver.h"
#include "machine/machine.h"

namespace polypath::probe {

struct Subject {
  Machine nominal;
  std::shared_ptr<Driver> driver;
};

/// `name` (a zoo name, "synthetic:SEED" or a file), else the POLYPATH_MACHINE setting: a simulated
/// machine, where calibration should give back its own numbers. Neither: this computer's GPUs with
/// the structure that was found; error (unsupported) says what to do where there are none.
Subject subject_of(const std::string& name, const Settings& settings);

}  // namespace polypath::probe
