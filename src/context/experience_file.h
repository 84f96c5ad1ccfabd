#pragma once
// The experience of engines on this computer's GPUs, in a file beside the calibration.

#include <memory>
#include <string>

#include "engine/learn/experience_keeper.h"
#include "machine/machine.h"

namespace polypath::context {

/// $XDG_CACHE_HOME/polypath/FINGERPRINT-DRIVER.learnt.json. Errors as calibration_path.
std::string experience_path(const Machine& machine, const std::string& driver);

/// Reads and writes the file; schema polypath.learnt/1. Experience beside other numbers of the
/// machine, before another calibration, counts for nothing, and so does a damaged file: the next
/// one takes its place. Null where there is no folder for it.
std::shared_ptr<ExperienceKeeper> open_experience_file(const Machine& machine,
                                                       const std::string& driver);

/// The text of the file for these kinds.
std::string experience_to_json(const Machine& machine, const LearntKinds& learnt);
/// Errors (invalid_machine) name `origin` and the field; empty if the machine has other numbers.
LearntKinds parse_experience(const std::string& text, const Machine& machine,
                             const std::string& origin);

/// The file of the machine that choose_machine finds for the name; empty if nothing was learnt on
/// it. Errors as choose_machine.
std::string learnt_report(const std::string& name);

}  // namespace polypath::context
