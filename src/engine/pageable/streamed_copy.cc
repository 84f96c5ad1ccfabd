#include "engine/pageable/streamed_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace polypath::engine {

#if defined(__SSE2__)

namespace {

constexpr std::size_t kLine = 64;  // of a cache, in bytes

void copy_line(std::byte* destination, const std::byte* source) {
  auto* const to = reinterpret_cast<__m128i*>(destination);
  const auto* const from = reinterpret_cast<const __m128i*>(source);
  const __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
  const __m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
  _mm_stream_si128(to, a), _mm_stream_si128(to + 1, b);
  _mm_stream_si128(to + 2, c), _mm_stream_si128(to + 3, d);
}

}  // namespace

void copy_past_caches(std::byte* destination, const std::byte* source, std::size_t bytes) {
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(destination) % kLine;
  const std::size_t head = std::min(bytes, (kLine - beyond) % kLine);
  std::memcpy(destination, source, head);
  std::size_t done = head;
  for (; bytes - done >= kLine; done += kLine) copy_line(destination + done, source + done);
  std::memcpy(destination + done, source + done, bytes - done);
  _mm_sfence();
}

#else

void copy_past_caches(std::byte* destination, const std::byte* source, std::size_t bytes) {
  std::memcpy(destination, source, bytes);
}

#endif

}  // namespace polypath::engine
