#pragma once
// How many bytes each path should carry when several transfers share the machine.
//
// Transfer k has n_k bytes for its paths p, of which path 0 is the direct one. As in
// share_problem.h a path takes Ω·x + Δ alone and c_kpr of resource r per byte:
//
//   min T   subject to   Ω_kp·x_kp + Δ_kp <= λ_k·T            for every path that carries anything
//                        Σ_{λ_k <= λ} Σ_p c_kpr·x_kp <= C_r·(λ·T − Δ_r)   for every resource r
//                                                                          and every λ = λ_j
//                        Σ_p x_kp = n_k,  x >= 0
//
// A resource with a burst has two rows for each λ, as there.
//
// With all λ_k = 1, T is the end of the last transfer. With λ_k proportional to what each takes
// natively, the least relative gain of any transfer is as large as it can be. The rows with λ < 1
// say that the transfers that have to be over first fit into the time until then; the machine
// decides the order of service.
//
// Of many optima one is taken that uses least of the machine: direct before staged paths.
//
// The flow bound is the same without latencies, Δ = 0 and Ω = 1/β of the slower hop: no plan over
// these paths, whatever its chunks and its order, is over earlier.

#include <span>
#include <vector>

#include "model/path.h"
#include "model/share_problem.h"

namespace polypath::model {

/// The paths of one transfer, its direct one first.
struct JointPaths {
  std::vector<SharedPath> paths;
  Bytes bytes;
  Bytes smallest;       ///< paths but the first that would carry less stay idle
  double deadline = 1;  ///< λ
};

struct JointShares {
  Seconds time;                             ///< T
  std::vector<std::vector<double>> shares;  ///< by transfer and path; each transfer's add up to 1
};

/// Solves the program. `available` is C_r, indexed by resource.
JointShares solve_joint_shares(std::span<const JointPaths> transfers,
                               std::span<const Capacity> available);

/// The request for a flow bound.
struct FlowDemand {
  std::vector<Path> paths;
  Bytes bytes;
};

/// The flow bound: nothing over these paths takes less.
Seconds flow_bound(const Machine& machine, const ResourceModel& resources,
                   std::span<const FlowDemand> demands);

}  // namespace polypath::model
