// Copies many small pieces: see copy_pieces.h. Blocks take units of a piece in turn, so that a
// large piece is shared by several.

#include "kernels/piece_layout.h"

namespace {

using polypath::destination_word;
using polypath::size_word;
using polypath::source_word;

constexpr int kThreads = polypath::kPieceKernelThreads;
constexpr int kInFlight = 4;  // loads of a thread, so that a link's latency is hidden
constexpr std::uint64_t kUnit = 32768;

template <std::size_t Most>
struct Parameters {
  std::uint64_t words[polypath::words_for(Most)];
};

// The bytes that a thread reads and writes at once.
template <class Word>
__device__ void copy_words(char* destination, const char* source, std::uint64_t words) {
  const auto* from = reinterpret_cast<const Word*>(source);
  auto* to = reinterpret_cast<Word*>(destination);
  std::uint64_t i = threadIdx.x;
  for (; i + (kInFlight - 1) * kThreads < words; i += kInFlight * kThreads) {
    Word loaded[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) loaded[k] = __ldcs(from + i + k * kThreads);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) __stcs(to + i + k * kThreads, loaded[k]);
  }
  for (; i < words; i += kThreads) __stcs(to + i, __ldcs(from + i));
}

// The largest words that both ends are aligned to; the bytes before the first such word and after
// the last one are copied singly.
template <class Word>
__device__ bool copy_aligned(char* destination, const char* source, std::uint64_t bytes) {
  constexpr std::uint64_t kSize = sizeof(Word);
  const auto to = reinterpret_cast<std::uintptr_t>(destination);
  const auto from = reinterpret_cast<std::uintptr_t>(source);
  if ((to - from) % kSize != 0) return false;
  const std::uint64_t misaligned = (kSize - to % kSize) % kSize;
  const std::uint64_t head = misaligned < bytes ? misaligned : bytes;
  const std::uint64_t words = (bytes - head) / kSize;
  const std::uint64_t tail = head + words * kSize;
  if (threadIdx.x < head) destination[threadIdx.x] = source[threadIdx.x];
  copy_words<Word>(destination + head, source + head, words);
  if (tail + threadIdx.x < bytes) destination[tail + threadIdx.x] = source[tail + threadIdx.x];
  return true;
}

__device__ void copy_unit(char* destination, const char* source, std::uint64_t bytes) {
  if (copy_aligned<uint4>(destination, source, bytes)) return;
  if (copy_aligned<std::uint32_t>(destination, source, bytes)) return;
  (void)copy_aligned<unsigned char>(destination, source, bytes);
}

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
    copy_unit(destination + offset, source + offset, left < kUnit ? left : kUnit);
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
