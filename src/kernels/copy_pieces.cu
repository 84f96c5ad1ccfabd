// Copies many small pieces: see copy_pieces.h. Blocks take units of a piece in turn, so that a
// large piece is shared by several.

#include "kernels/copy_words.cuh"
#include "kernels/piece_layout.h"

using namespace polypath::kernels;  // NOLINT(google-build-using-namespace): kernels have C's names

namespace {

constexpr int kThreads = kPieceKernelThreads;
constexpr std::uint64_t kUnit = 32768;

template <std::size_t Most>
struct Parameters {
  std::uint64_t words[words_for(Most)];
};

template <std::size_t Most>
__device__ void copy_pieces(const Parameters<Most>& parameters) {
  const std::uint64_t* words = parameters.words;
  const std::uint64_t pieces = words[kPieceCount];
  const std::uint64_t units = (words[kLargestPieceWord] + kUnit - 1) / kUnit;
  for (std::uint64_t unit = blockIdx.x; unit < pieces * units; unit += gridDim.x) {
    const std::uint64_t piece = unit / units, offset = unit % units * kUnit;
    const std::uint64_t size = words[size_word(piece)];
    if (offset >= size) continue;
    const auto* source = reinterpret_cast<const char*>(words[source_word(pieces, piece)]);
    auto* destination = reinterpret_cast<char*>(words[destination_word(pieces, piece)]);
    const std::uint64_t left = size - offset;
    gpu::copy_unit<kThreads>(destination + offset, source + offset, left < kUnit ? left : kUnit);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    copy_few_pieces(const __grid_constant__ Parameters<kMostPiecesOfSmallKernel> parameters) {
  copy_pieces(parameters);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    copy_pieces(const __grid_constant__ Parameters<kMostPiecesOfKernel> parameters) {
  copy_pieces<kMostPiecesOfKernel>(parameters);
}
