#pragma once
// How long a collective's program takes on an otherwise idle machine: whole, or divided into the
// ranks' parts.

#include <vector>

#include "collective/division/projection.h"
#include "model/fluid.h"
#include "model/program.h"
#include "model/transfer.h"

namespace polypath::collective {

/// From the call until the calling thread knows that it is done, on an otherwise idle machine. The
/// stream is one of `gpu`.
Seconds predicted_time(const Machine& machine, const HopRates& rates, const Program& program,
                       Executor executor, PlaceId gpu);

/// From the calls, which all ranks make at the same time, until the last rank's thread knows that
/// its part is done, on an otherwise idle machine.
Seconds predicted_time(const Machine& machine, const HopRates& rates,
                       const std::vector<RankPart>& parts, const std::vector<PlaceId>& ranks,
                       Executor executor);

/// True for a program that is one kernel. A rank launches it as a graph: that keeps the calling
/// thread for 1.3 to 2.2 us, its launch for 3.2 to 3.9 (results/h100x2/launches.json). It stays a
/// kernel where a program captures it, and where there are too many kinds of calls: to instantiate
/// a graph takes 32 us.
[[nodiscard]] bool is_one_kernel(const Program& program);

}  // namespace polypath::collective
