#pragma once
// Shares corrected by what was measured.

#include <optional>
#include <span>

#include "plan/single/planner.h"
#include "plan/split.h"

namespace polypath::plan {

/// The shares that follow from measured times of a plan's paths.
struct LevelledShares {
  Shares shares;     ///< of the paths that carry more than next to nothing
  Seconds expected;  ///< when all of them then end, together
  Seconds before;    ///< when the last one has ended
};

/// Moves bytes from the paths that ended late to those that ended early. Path i took tᵢ for bᵢ
/// bytes, of which Δᵢ are its latencies (the model's), so that one byte more costs it
/// Ωᵢ = (tᵢ − Δᵢ)/bᵢ, and all end together at T = Σ tᵢ/Ωᵢ / Σ 1/Ωᵢ, where bᵢ' = bᵢ + (T − tᵢ)/Ωᵢ.
/// `measured` has one time per path of the plan's shape, from its call on. Where paths contend, the
/// step is too long: `damping` is the part of it that is taken. Nothing for a plan of one path, or
/// times that are none.
std::optional<LevelledShares> rebalance_shares(const Planner& planner, const Plan& plan,
                                               std::span<const Seconds> measured, double damping);

}  // namespace polypath::plan
