#pragma once
// Pieces that are larger than a slot of scratch memory: in programs that use no slots, or that need
// fewer than there are, so that two that lie side by side are one.

#include "collective/algorithms/algorithm.h"

namespace polypath::collective {

/// How many slots the pieces of a program may be as large as; none if it uses no slots.
[[nodiscard]] std::optional<int> most_joined(const Algorithm& algorithm, const Program& program);

/// The least number of slots doubled that makes the calls `calls` times fewer, as far as the
/// message and the program allow.
[[nodiscard]] Bytes larger_piece(Bytes slot, const CollectiveRequest& request,
                                 std::optional<int> joined, double calls);

/// Makes slots one where a piece needs that.
void join_slots(Tuning& tuning, Bytes slot);

}  // namespace polypath::collective
