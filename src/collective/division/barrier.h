#pragma once
// A barrier: work behind it in any rank's stream comes after all that was in every rank's stream
// before it.
//
// It has no memory but flags (projection.h), and no program over all ranks: no rank does anything
// that another one could come after. Rank c's part, with n ranks:
//
//   set word 0 of (c, p) at every other p │ await word 0 of (p, c) of every p
//   set word 1 of (c, p) at every other p │ await word 1 of (p, c) of every p
//
// All have begun when the first line is over. The second one is there so that the next program may
// set the same words: c ends after every p has set its word 1, and p does so after it has cleared
// word 0 of (c, p). Word 1 is set again by c after p has entered a later program, and p enters it
// after it has cleared word 1.

#include <vector>

#include "collective/division/projection.h"

namespace polypath::collective {

/// The ranks' parts, for RankRun; their buffers are the flags alone, so that a run is given none.
/// Error (unsupported) if fewer than two words are kept for each pair.
std::vector<RankPart> barrier_parts(const Machine& machine, const std::vector<PlaceId>& ranks,
                                    int per_pair);

}  // namespace polypath::collective
