#pragma once
// Calibrations as JSON, for the interfaces; docs/json.md describes the schema.

#include <string>

#include "probe/calibrate.h"

namespace polypath::context {

/// Calibrates what choose_nominal_machine finds for the name, keeps the result in the user's cache
/// (machine/store.h), and returns polypath.calibration/1 with the calibrated machine itself as
/// `calibrated`. A simulated machine should give back its own numbers. Nothing is kept if anything
/// fails.
std::string calibrate_report(const std::string& name, const probe::Progress& progress);

/// polypath.calibration/1 of a machine that was calibrated before: of a file that calibration has
/// written, else of what the cache has for the machine. Empty if there is none. Errors as
/// load_machine; a damaged calibration is invalid_machine.
std::string calibration_report(const std::string& name);

}  // namespace polypath::context
