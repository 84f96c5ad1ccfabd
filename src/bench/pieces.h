#pragma once
// The operation `many`: blocks of one buffer go to blocks of another, each a copy, all asked for
// together.

#include "bench/measure.h"

namespace polypath::bench {

inline constexpr int kPiecesUnlessSaid = 512;
inline constexpr int kMostPieces = 65536;
/// Of one measurement.
inline constexpr Bytes kMostBytes = 64_GiB;

/// Errors (invalid_argument): a number of pieces that cannot be used, or is given to an operation
/// that has none; sizes that are too large together.
void check_pieces(const Request& request);

/// Which block of the destination block `piece` goes to: as in a cache, neighbours of one memory
/// are none of the other. Every block is met once.
std::size_t block_of(std::size_t piece, std::size_t pieces);

/// Predicted time of a window in which the pieces went as the first one's `result` says; not a
/// number where each has a plan of its own, which says nothing of all of them.
Seconds predict_pieces(const Machine& machine, const Operation& operation, Bytes bytes,
                       const CopyResult& result, int window);

}  // namespace polypath::bench
