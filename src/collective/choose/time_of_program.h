#pragma once
// How long a request's program takes: run by one process, or divided among its ranks.

#include "collective/program/request.h"
#include "model/hop_rates.h"
#include "model/program.h"
#include "model/transfer.h"

namespace polypath::collective {

/// Infinite if it cannot be divided: it needs too many flags, or memory out of reach.
Seconds time_of_program(const Machine& machine, const HopRates& rates, const Program& program,
                        const CollectiveRequest& request, Executor executor, bool divided);

}  // namespace polypath::collective
