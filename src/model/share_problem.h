#pragma once
// How many bytes each path should carry when paths share resources.
//
// Path i takes Ωᵢ·bᵢ + Δᵢ alone, and cᵢᵣ of resource r per byte; of r there is C_r, from the moment
// Δ_r on (the least Δ of the paths that use it). The best split is a linear program:
//
//   min T   subject to   Ωᵢ·bᵢ + Δᵢ <= T               for every path that carries anything
//                        Σᵢ cᵢᵣ·bᵢ <= C_r·(T − Δ_r)    for every resource
//                        Σᵢ bᵢ = n,  b >= 0
//
// A resource that carries more for a while (burst B, credit S; burst_credit.h) has two such rows,
// both linear in T, because its carried bytes are bounded by the lesser of two lines:
//
//                        Σᵢ cᵢᵣ·bᵢ <= B_r·(T − Δ_r)
//                        Σᵢ cᵢᵣ·bᵢ <= S_r + C_r·(T − Δ_r)
//
// With no shared resource all carrying paths end together, which is Theorem 1 of 001, and the
// shares are those of its eq. 24. Path 0, the direct one, is always allowed.
//
// Of several optimal splits the one that fair sharing realises is taken: rates found by progressive
// filling (fair_rates.h) on the paths that the program uses, all ending together. There a burst
// counts with what it adds to the mean rate until T, which is min(B, C + S/T).

#include <span>
#include <vector>

#include "core/units.h"
#include "machine/machine.h"
#include "model/hockney.h"

namespace polypath::model {

/// One path of the problem.
struct SharedPath {
  LinearTime time;          ///< Ω and Δ when alone
  std::vector<Use> claims;  ///< c_ir
};

struct ShareSolution {
  Seconds time;
  std::vector<double> shares;  ///< adds up to 1; zero for a path that does not help
};

/// Solves the program. `available` is C_r, indexed by resource; `smallest` is the least amount
/// worth sending over a path other than the first (less becomes zero).
ShareSolution solve_shares(std::span<const SharedPath> paths, std::span<const Capacity> available,
                           Bytes total, Bytes smallest);

}  // namespace polypath::model
