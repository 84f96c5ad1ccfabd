#pragma once
// Copies by the ordinary calls, in streams of all kinds.

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "cuda.h"

namespace program {

constexpr std::size_t kBytes = 64 * kMiB + 4096 + 13;

// From one GPU to another, in a stream of the first, the way that `copy` does it.
inline void between_gpus(const std::function<void(CUdeviceptr, CUdeviceptr, CUstream)>& copy,
                         CUstream stream) {
  const CUdeviceptr to = memory_on(1, kBytes), from = filled(0, kBytes, 1);
  copy(to, from, stream);
  CHECK(cuStreamSynchronize(stream));
  EXPECT(read(to, kBytes) == pattern(kBytes, 1));
}

inline void async() {
  between_gpus([](auto to, auto from, auto s) { CHECK(cuMemcpyDtoDAsync_v2(to, from, kBytes, s)); },
               stream_on(0));
}

inline void of_any_kind() {
  between_gpus([](auto to, auto from, auto s) { CHECK(cuMemcpyAsync(to, from, kBytes, s)); },
               stream_on(0));
}

inline void peer() {
  between_gpus(
      [](auto to, auto from, auto s) {
        CHECK(cuMemcpyPeerAsync(to, context_of(1), from, context_of(0), kBytes, s));
      },
      stream_on(0));
}

inline void legacy_stream() {
  use(0);
  between_gpus([](auto to, auto from, auto s) { CHECK(cuMemcpyDtoDAsync_v2(to, from, kBytes, s)); },
               nullptr);
}

// The default streams of both GPUs wait for such a copy, and it for them: what the other GPU does
// before and after in a stream of its own sees either all of it or nothing.
inline void legacy_stream_of_two() {
  const CUdeviceptr from = filled(0, kBytes, 30), earlier = filled(1, kBytes, 31);
  const CUdeviceptr to = memory_on(1, kBytes), seen_before = memory_on(1, kBytes);
  const CUdeviceptr seen_after = memory_on(1, kBytes);
  const CUstream others = stream_on(1, 0);
  for (int i = 0; i < 3; ++i) {
    use(1);
    CHECK(cuMemcpyDtoDAsync_v2(to, earlier, kBytes, others));
    CHECK(cuMemcpyDtoDAsync_v2(seen_before, to, kBytes, others));
    use(0);
    CHECK(cuMemcpyDtoDAsync_v2(to, from, kBytes, nullptr));
    use(1);
    CHECK(cuMemcpyDtoDAsync_v2(seen_after, to, kBytes, others));
  }
  CHECK(cuStreamSynchronize(others));
  EXPECT(read(seen_before, kBytes) == pattern(kBytes, 31));
  EXPECT(read(seen_after, kBytes) == pattern(kBytes, 30));
}

inline void per_thread_stream() {
  between_gpus(
      [](auto to, auto from, auto) {
        CHECK(cuMemcpyAsync_ptsz(to, from, kBytes, nullptr));
        CHECK(cuStreamSynchronize(reinterpret_cast<CUstream>(2)));
      },
      stream_on(0));
}

inline void blocking() {
  const CUdeviceptr to = memory_on(1, kBytes), from = filled(0, kBytes, 2);
  CHECK(cuMemcpyDtoD_v2(to, from, kBytes));
  EXPECT(read(to, kBytes) == pattern(kBytes, 2));
}

// Into a GPU and out of another one, pinned and pageable; every call has returned when it is done.
inline void host_blocking() {
  use(2);
  const auto bytes = pattern(kBytes, 3);
  auto* source = static_cast<unsigned char*>(pinned(kBytes));
  std::copy(bytes.begin(), bytes.end(), source);
  const CUdeviceptr on_gpu = memory_on(2, kBytes);
  CHECK(cuMemcpyHtoD_v2(on_gpu, source, kBytes));
  std::vector<unsigned char> pageable(kBytes);
  CHECK(cuMemcpyDtoH_v2(pageable.data(), on_gpu, kBytes));
  EXPECT(pageable == bytes);
  const auto others = pattern(kBytes, 4);
  CHECK(cuMemcpyHtoD_v2(on_gpu, others.data(), kBytes));
  CHECK(cuMemcpy(reinterpret_cast<CUdeviceptr>(source), on_gpu, kBytes));
  EXPECT(std::equal(others.begin(), others.end(), source));
}

inline void host_async() {
  use(1);
  const auto bytes = pattern(kBytes, 5);
  auto* there = static_cast<unsigned char*>(pinned(kBytes));
  auto* back = static_cast<unsigned char*>(pinned(kBytes));
  std::copy(bytes.begin(), bytes.end(), there);
  const CUstream stream = stream_on(1);
  const CUdeviceptr on_gpu = memory_on(1, kBytes);
  CHECK(cuMemcpyHtoDAsync_v2(on_gpu, there, kBytes, stream));
  CHECK(cuMemcpyDtoHAsync_v2(back, on_gpu, kBytes, stream));
  CHECK(cuStreamSynchronize(stream));
  EXPECT(std::equal(bytes.begin(), bytes.end(), back));
}

// Forty copies at once, and a few more when they are done.
inline void many_then_few() {
  use(1);
  const auto bytes = pattern(kBytes, 5);
  auto* there = static_cast<unsigned char*>(pinned(kBytes));
  std::copy(bytes.begin(), bytes.end(), there);
  const CUstream stream = stream_on(1);
  const CUdeviceptr on_gpu = memory_on(1, kBytes);
  for (int i = 0; i < 40; ++i) CHECK(cuMemcpyHtoDAsync_v2(on_gpu, there, kBytes, stream));
  CHECK(cuStreamSynchronize(stream));
  for (int i = 0; i < 12; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    CHECK(cuMemcpyHtoDAsync_v2(on_gpu, there, kBytes, stream));
    CHECK(cuStreamSynchronize(stream));
  }
  EXPECT(read(on_gpu, kBytes) == bytes);
}

// What comes before in the stream is seen, what comes after does not disturb: ten times over.
inline void in_order() {
  const CUstream stream = stream_on(0);
  const CUdeviceptr first = filled(0, kBytes, 6), second = filled(0, kBytes, 7);
  const CUdeviceptr middle = memory_on(0, kBytes), to = memory_on(1, kBytes);
  for (int i = 0; i < 10; ++i) {
    use(0);
    CHECK(cuMemcpyDtoDAsync_v2(middle, i % 2 == 0 ? first : second, kBytes, stream));
    CHECK(cuMemcpyDtoDAsync_v2(to, middle, kBytes, stream));
    CHECK(cuMemcpyDtoDAsync_v2(middle, i % 2 == 0 ? second : first, kBytes, stream));
    if (i < 8) continue;
    CHECK(cuStreamSynchronize(stream));
    EXPECT(read(to, kBytes) == pattern(kBytes, i % 2 == 0 ? 6 : 7));
  }
}

inline void small_only() {
  const CUstream stream = stream_on(0);
  const CUdeviceptr to = memory_on(1, kMiB), from = filled(0, kMiB, 8);
  for (int i = 0; i < 100; ++i) CHECK(cuMemcpyDtoDAsync_v2(to, from, kMiB - 1, stream));
  CHECK(cuStreamSynchronize(stream));
  EXPECT(!has_context(2) && !has_context(3));
}

}  // namespace program
