#pragma once
// Calibrated machines as files: one per machine and kind of driver, in the user's cache folder.

#include <optional>
#include <string>

#include "machine/machine.h"

namespace polypath::machine {

/// A machine with measured numbers, and the same with the nominal ones.
struct CalibratedMachine {
  Machine measured;
  Machine nominal;
  std::string file;  ///< where it was read from
};

/// $XDG_CACHE_HOME/polypath/FINGERPRINT-DRIVER.json, with ~/.cache where the variable is not set or
/// no absolute path. `driver` is Driver::name(): numbers measured on a simulated machine are never
/// taken for those of the real one. Error (unsupported) if there is no home folder either.
std::string calibration_path(const Machine& nominal, const std::string& driver);

/// $XDG_CACHE_HOME/polypath/NAME, likewise.
std::string cache_path(const std::string& name);

/// Writes `text` to `path` completely or not at all, and makes the folders above it. Error
/// (unsupported) names the path and says why not.
void write_whole(const std::string& path, const std::string& text);

/// The calibration of the machine in the file at calibration_path; nothing if there is no such
/// file. Error (invalid_machine) names a file that is damaged or belongs to another machine.
std::optional<CalibratedMachine> stored_calibration(const Machine& nominal,
                                                    const std::string& driver);

/// The calibrated machine in the file `path`; nothing if its numbers are not said to be measured
/// ones beside nominal ones. Errors as load_machine.
std::optional<CalibratedMachine> read_calibration(const std::string& path);

}  // namespace polypath::machine
