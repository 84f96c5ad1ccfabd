#pragma once
// Many small copies between the same two places as one program: each of these pieces goes whole
// over one path.
//
// Pieces are dealt out in their order, and issued in it. Path p has the share s_p and has been
// given w_p so far; the next to get something is the one with the least w_p/s_p, so that all paths
// are served from the start on and end together. A piece of n bytes weighs n + α·β of the direct
// hop: the bytes that this hop could carry until the piece has begun count as well, or a path with
// many small pieces would be late.
//
// The direct path gets one piece at a time, which is one copy. A staged path gets as many as fill a
// chunk: they are gathered in one staging slot, a copy each, at offsets that are multiples of
// kPieceAlignment, and from there each is copied to its place. Only the chunk needs events.

#include <cstddef>
#include <span>
#include <vector>

#include "model/transfer.h"

namespace polypath::model {

/// Where pieces begin in a staging slot.
inline constexpr Bytes kPieceAlignment = 512_B;

/// How pieces are to be dealt out.
struct PieceSplit {
  std::vector<Path> paths;     ///< the direct one first
  std::vector<double> shares;  ///< one per path, of the weight
  Bytes chunk;                 ///< that staged paths gather, or one piece if that is larger
  Bytes slot;                  ///< no piece that is larger is staged
  Bytes latency;               ///< α·β of the direct hop
};

/// Neighbouring pieces that one path gets at once.
struct PieceBatch {
  std::size_t path;
  std::size_t first;
  std::size_t count;
};

/// Pieces by path.
struct DealtPieces {
  std::vector<Path> paths;          ///< those that carry any
  std::vector<PieceBatch> batches;  ///< all pieces in order
};

/// Deals out pieces of these sizes. All that is left over goes directly.
DealtPieces deal(std::span<const Bytes> sizes, const PieceSplit& split);

/// The same as paths with chunks: their bytes together on the direct one.
TransferShape shape_of(std::span<const Bytes> sizes, const DealtPieces& dealt);

/// Numbers of a piece's two buffers.
constexpr int source_buffer(std::size_t piece) { return 2 * static_cast<int>(piece); }
constexpr int destination_buffer(std::size_t piece) { return source_buffer(piece) + 1; }

/// The program of dealt pieces, as program_of for a transfer but with two buffers per piece. Chunk
/// j of a staged path goes through slot j mod `slots`. Events are not assigned.
Program program_of(const Machine& machine, std::span<const Bytes> sizes, const DealtPieces& dealt,
                   int slots);

}  // namespace polypath::model
