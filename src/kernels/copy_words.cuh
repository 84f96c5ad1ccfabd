#pragma once
// Copies of bytes by the threads of a block, wherever both ends are.

#include <cstdint>

namespace polypath::kernels::gpu {

constexpr int kInFlight = 4;  // loads of a thread, so that a link's latency is hidden

// Words that a thread reads and writes at once, by blocks of `threads`.
template <class Word, int threads>
__device__ void copy_words(char* destination, const char* source, std::uint64_t words) {
  const auto* from = reinterpret_cast<const Word*>(source);
  auto* to = reinterpret_cast<Word*>(destination);
  std::uint64_t i = threadIdx.x;
  for (; i + (kInFlight - 1) * threads < words; i += kInFlight * threads) {
    Word loaded[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) loaded[k] = __ldcs(from + i + k * threads);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) __stcs(to + i + k * threads, loaded[k]);
  }
  for (; i < words; i += threads) __stcs(to + i, __ldcs(from + i));
}

// The largest words that both ends are aligned to; the bytes before the first such word and after
// the last one are copied singly.
template <class Word, int threads>
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
  copy_words<Word, threads>(destination + head, source + head, words);
  if (tail + threadIdx.x < bytes) destination[tail + threadIdx.x] = source[tail + threadIdx.x];
  return true;
}

template <int threads>
__device__ void copy_unit(char* destination, const char* source, std::uint64_t bytes) {
  if (copy_aligned<uint4, threads>(destination, source, bytes)) return;
  if (copy_aligned<std::uint32_t, threads>(destination, source, bytes)) return;
  (void)copy_aligned<unsigned char, threads>(destination, source, bytes);
}

}  // namespace polypath::kernels::gpu
