#pragma once
// The copies of one transfer in time, as simulated.

#include <string>
#include <vector>

#include "bench/session.h"

namespace polypath::bench {

struct Timeline {
  PlanPointer plan;
  Seconds start;                 ///< of the call, on the driver's clock
  std::vector<sim::Span> spans;  ///< in order of completion
};

/// Runs the transfer once to create streams, rings and graphs, and once more for the timeline.
Timeline simulate_transfer(const Machine& machine, const Lane& lane, Bytes bytes,
                           const PlanPointer& plan, const Settings& settings,
                           const PlanOptions& options);

/// The name of the plan's path number `path`; "direct" if there is none.
std::string path_name(const Machine& machine, const Plan& plan, int path);

}  // namespace polypath::bench
