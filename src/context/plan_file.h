#pragma once
// The results of searches for plans on this computer's GPUs, in a file beside the calibration.

#include <memory>
#include <string>

#include "core/settings.h"
#include "machine/machine.h"
#include "plan/joint/found_plans.h"

namespace polypath::context {

/// $XDG_CACHE_HOME/polypath/FINGERPRINT-DRIVER.plans.json. Errors as calibration_path.
std::string plan_file_path(const Machine& machine, const std::string& driver);

/// Reads and writes the file; schema polypath.plans/1. Plans for other numbers of the machine,
/// under other settings or by another revision of the planner count for nothing, and so does a
/// damaged file: the next one takes its place. Null where there is no folder for it, and where
/// plans come from a table (POLYPATH_TUNED), which may change.
std::shared_ptr<PlanKeeper> open_plan_file(const Machine& machine, const std::string& driver,
                                           const Settings& settings);

/// The text of the file.
std::string found_plans_to_json(const Machine& machine, const Settings& settings,
                                const FoundPlans& found);
/// Errors (invalid_machine) name `origin` and the field; empty if it is of another machine, other
/// settings or another revision.
FoundPlans parse_found_plans(const std::string& text, const Machine& machine,
                             const Settings& settings, const std::string& origin);

}  // namespace polypath::context
