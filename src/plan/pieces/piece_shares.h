#pragma once
// The share program of pieces: see piece_planner.h.

#include <vector>

#include "model/path.h"
#include "model/pieces.h"

namespace polypath::plan {

/// How pieces of `piece` bytes, `total` in all, are to be divided among paths by the share program.
/// No more than `most` of them carry anything.
std::vector<double> piece_shares(const Machine& machine, const ResourceModel& resources,
                                 const std::vector<Path>& paths, Bytes piece, Bytes total,
                                 Bytes chunk, std::size_t most);

}  // namespace polypath::plan
