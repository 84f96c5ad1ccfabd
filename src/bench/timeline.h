#pragma once
// The copies of one transfer in time, as simulated.

#include "bench/requests.h"
#include "context/reports.h"

namespace polypath::bench {

/// Runs the transfer that `plan` is for once to create streams, rings and graphs, and once more for
/// the timeline.
SimulatedTransfer simulate_transfer(const PlanRequest& request, const Plan& plan);

}  // namespace polypath::bench
