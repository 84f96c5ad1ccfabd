#pragma once
// Measures one operation on this computer's GPUs, beside the native copy.
//
// Native runs are the driver's own calls, without the engine. They and planned runs alternate, so
// that other activity of the computer affects both alike; each figure is the median of its runs.
// The clock is the host's: from the first call until every stream has been waited for. The first
// runs are not timed: they make plans, rings and graphs, and are those whose bytes are compared;
// one more after the timed ones compares them again.

#include "bench/measure.h"

namespace polypath::bench {

/// As measure(). Error (driver, out_of_memory) if the driver fails.
Result measure_on_gpus(const OpenMachine& opened, const Operation& operation,
                       const Request& request, Bytes bytes);

}  // namespace polypath::bench
