#pragma once
// Where the parameters of copy_pieces are, in words of 64 bits, for the kernel and its caller:
//
//   pieces, bytes of the largest | bytes of each piece | by piece source, destination

#include <cstddef>
#include <cstdint>

#include "kernels/on_both.h"

namespace polypath::kernels {

/// How many pieces one launch takes at most, and one that hands over fewer parameters: that saves 2
/// us of the call and 3 us until it is done (results/h200x2/many.json).
inline constexpr std::size_t kMostPiecesOfKernel = 1024;
inline constexpr std::size_t kMostPiecesOfSmallKernel = 128;
inline constexpr unsigned kPieceKernelThreads = 512;  ///< of a block

enum PieceWord : std::uint64_t { kPieceCount, kLargestPieceWord, kPieceSizes };

POLYPATH_ON_BOTH constexpr std::uint64_t size_word(std::uint64_t piece) {
  return kPieceSizes + piece;
}
POLYPATH_ON_BOTH constexpr std::uint64_t source_word(std::uint64_t pieces, std::uint64_t piece) {
  return kPieceSizes + pieces + 2 * piece;
}
POLYPATH_ON_BOTH constexpr std::uint64_t destination_word(std::uint64_t pieces,
                                                          std::uint64_t piece) {
  return source_word(pieces, piece) + 1;
}
POLYPATH_ON_BOTH constexpr std::size_t words_for(std::size_t most_pieces) {
  return kPieceSizes + 3 * most_pieces;
}

}  // namespace polypath::kernels
