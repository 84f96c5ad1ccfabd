// Copies many small pieces: see copy_pieces.h. Blocks take units of a piece in turn, so that a
// large piece is shared by several.

#include "kernels/copy_words.cuh"
#include "kernels/piece_layout.h"

namespace {

using polypath::destination_word;
using polypath::size_word;
using polypath::source_word;

constexpr int kThreads = polypath::kPieceKernelThreads;
constexpr std::uint64_t kUnit = 32768;

template <std::size_t Most>
struct Parameters {
  std::uint64_t words[polypath::words_for(Most)];
};

template <std::size_t Most>
__device__ void copy_pieces(const Parameters<Most>& parameters) {
  const std::uint64_t* words = parameters.words;
  const std::uint64_t pieces = words[polypath::kPieceCount];
  const std::uint64_t units = (words[polypath::kLargestPieceWord] + kUnit - 1) / kUnit;
  for (std::uint64_t unit = blockIdx.x; unit < pieces * units; unit += gridDim.x) {
    const std::uint64_t piece = unit / units, offset = unit % units * kUnit;
    const std::uint64_t size = words[size_word(piece)];
    if (offset >= size) continue;
    const auto* source = reinterpret_cast<const char*>(words[source_word(pieces, piece)]);
    auto* destination = reinterpret_cast<char*>(words[destination_word(pieces, piece)]);
    const std::uint64_t left = size - offset;
    polypath::gpu::copy_unit<kThreads>(destination + offset, source + offset,
                                       left < kUnit ? left : kUnit);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads) copy_few_pieces(
    const __grid_constant__ Parameters<polypath::kMostPiecesOfSmallKernel> parameters) {
  copy_pieces(parameters);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    copy_pieces(const __grid_constant__ Parameters<polypath::kMostPiecesOfKernel> parameters) {
  copy_pieces<polypath::kMostPiecesOfKernel>(parameters);
}
