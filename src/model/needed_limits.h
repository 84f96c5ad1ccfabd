#pragma once
// Which resources of a machine limit copies in a way that its others do not.
//
// With x_h bytes/s over hop h and weights w_rh, resource r allows Σ_h w_rh·x_h <= C_r. That follows
// from one other resource s, or from two, s and t, and need not be looked at, if
//
//   w_rh <= w_sh (+ w_th)  for all h,   and   C_s (+ C_t) <= C_r.
//
// So host memory whose reads and writes share one rate limits neither of them by itself, and a link
// that carries as much as both directions together limits nothing.

#include <span>
#include <vector>

#include "core/units.h"
#include "machine/machine.h"

namespace polypath::model {

/// By resource. Resources with a burst are needed, and stand for no others: their capacity changes.
std::vector<bool> needed_limits(const Machine& machine, std::span<const Capacity> capacities);

}  // namespace polypath::model
