#pragma once
// How much threads of a process that make calls at the same time slow each other down.
//
// Two threads copy over two hops that share nothing, a copy and the wait for it each; one thread
// does the same alone. With h more for each call, the two calls of each take
//
//   T_two − T_one = 2·h
//
// and the mean over some sizes counts, because real drivers hold up long waits more than short
// ones.

#include <optional>

#include "probe/call_costs.h"

namespace polypath::probe {

/// h; nothing where no two hops are free of each other, nothing is seen, or it scatters.
std::optional<Cost> measure_threads_hold_up(Workbench& bench, const Sampler& sampler);

}  // namespace polypath::probe
