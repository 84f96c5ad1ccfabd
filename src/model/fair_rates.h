#pragma once
// Max-min fair rates of copies that share resources.
//
// Flow f has a cap c_f and takes w_fr·x_f of resource r with capacity C_r. The max-min fair rates x
// are the feasible ones (x_f <= c_f, Σ_f w_fr·x_f <= C_r) where no flow can gain except at the cost
// of one that has no more. Progressive filling finds them: raise all rates together; a flow stops
// at its cap or when one of its resources is full; repeat with those still rising.

#include <span>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "machine/machine.h"

namespace polypath::model {

/// One flow: at most `cap`, and its claims on the resources.
struct Flow {
  BytesPerSecond cap;
  std::span<const Use> uses;
};

/// The max-min fair rate of each flow. `capacities` is indexed by resource.
std::vector<BytesPerSecond> fair_rates(std::span<const Flow> flows,
                                       std::span<const Capacity> capacities);

/// The capacities of a machine's resources, in order, with their bursts. Fair rates know none: they
/// take what each has now (burst_credit.h).
std::vector<Capacity> capacities_of(const Machine& machine);

}  // namespace polypath::model
