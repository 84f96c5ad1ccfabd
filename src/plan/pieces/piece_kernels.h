#pragma once
// Many small copies between two places as kernels (kernels/copy_pieces.h): each piece goes whole by
// one GPU, which reads it where it is and writes it where it is to be.
//
// The GPU of a direct path is the one that would make its copies; that of a path staged at a GPU is
// that one, and nothing is staged: it writes over the second hop, at the same time, the bytes that
// it reads over the first. Path p takes its GPU's latency from a launch to the first instruction,
// and 1/(e·min β) per byte, e being the part of a hop's bandwidth that kernels reach; of a resource
// of the hops 1/e per byte. There are no engines in it, no chunks and no cost of a piece, so the
// share program with that has as many variables as there are paths; pieces dealt out whole are
// rebalanced on the timeline, as for copies.

#include <optional>
#include <span>
#include <vector>

#include "model/path.h"
#include "model/pieces.h"

namespace polypath::plan {

/// The GPU whose kernel carries what goes over the path; none if no kernel can.
std::optional<PlaceId> carrier_of(const Machine& machine, const Path& path);

/// The paths that have one, in their order.
std::vector<Path> carried_paths(const Machine& machine, const std::vector<Path>& paths);

/// How pieces are to be divided among carried paths: `total` bytes, of which a path other than the
/// first carries at least `piece`, or nothing. No more than `most` of them carry anything.
std::vector<double> carried_shares(const Machine& machine, const ResourceModel& resources,
                                   const std::vector<Path>& paths, Bytes piece, Bytes total,
                                   std::size_t most);

/// Which kernel a call is, by number: every GPU has one for few pieces and one for many.
int piece_kernel(PlaceId gpu, std::size_t pieces);

/// The program of pieces dealt out to carried paths, with two buffers per piece (model/pieces.h).
/// Each path's GPU launches them in a queue of its own, the `issuer` in the caller's, last.
Program kernels_of(const Machine& machine, std::span<const Bytes> sizes, const DealtPieces& dealt,
                   PlaceId issuer);

}  // namespace polypath::plan
