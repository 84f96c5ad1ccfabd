#pragma once
// Copies in contexts of all kinds, and some that are nobody's business but the driver's.

#include <cstring>

#include "copies_in_streams.h"

namespace program {

// GPUs that no plan uses get no context, and the first GPU is none of our business here.
inline void no_more_contexts() {
  const CUstream stream = stream_on(2);
  const CUdeviceptr to = memory_on(3, kBytes), from = filled(2, kBytes, 9);
  use(2);
  CHECK(cuMemcpyDtoDAsync_v2(to, from, kBytes, stream));
  CHECK(cuStreamSynchronize(stream));
  EXPECT(!has_context(0) && !has_context(1));
}

inline void capturing() {
  const CUstream stream = stream_on(0);
  const CUdeviceptr to = memory_on(1, kBytes), from = filled(0, kBytes, 10);
  use(0);
  CHECK(cuMemcpyDtoDAsync_v2(to, from, kBytes, stream));
  CHECK(cuStreamSynchronize(stream));
  CUgraph graph = nullptr;
  std::size_t nodes = 0;
  CHECK(cuStreamBeginCapture_v2(stream, 0));
  CHECK(cuMemcpyDtoDAsync_v2(to, from, kBytes, stream));
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 1);
}

inline void own_context() {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  const CUdeviceptr to = memory_on(1, kBytes);
  CHECK(cuCtxCreate_v2(&context, 0, 0));
  CHECK(cuCtxSetCurrent(context));
  CUdeviceptr from = 0;
  CHECK(cuMemAlloc_v2(&from, kBytes));
  write(from, pattern(kBytes, 11));
  CHECK(cuStreamCreate(&stream, 1));
  CHECK(cuMemcpyDtoDAsync_v2(to, from, kBytes, stream));
  CHECK(cuStreamSynchronize(stream));
  EXPECT(read(to, kBytes) == pattern(kBytes, 11));
}

// The GPU's primary context is nobody's business here.
inline void memory_of_own_context() {
  CUcontext context = nullptr;
  CHECK(cuCtxCreate_v2(&context, 0, 1));
  CHECK(cuCtxSetCurrent(context));
  CUdeviceptr to = 0;
  CHECK(cuMemAlloc_v2(&to, kBytes));
  const CUdeviceptr from = filled(0, kBytes, 12);
  const CUstream stream = stream_on(0);
  CHECK(cuMemcpyDtoDAsync_v2(to, from, kBytes, stream));
  CHECK(cuStreamSynchronize(stream));
  EXPECT(read(to, kBytes) == pattern(kBytes, 12));
  EXPECT(!has_context(1));
}

// The driver's own answer is what the program gets, and nothing is copied.
inline void beyond_the_end() {
  const CUdeviceptr to = memory_on(1, 2 * kBytes), from = memory_on(0, kBytes);
  use(0);
  const CUresult result = cuMemcpyDtoDAsync_v2(to, from, 2 * kBytes, stream_on(0));
  EXPECT(result != 0);
}

inline void managed() {
  const CUstream stream = stream_on(0);
  const CUdeviceptr from = filled(0, kBytes, 12);
  CUdeviceptr to = 0;
  CHECK(cuMemAllocManaged(&to, kBytes, 1));
  CHECK(cuMemcpyAsync(to, from, kBytes, stream));
  CHECK(cuStreamSynchronize(stream));
  const auto expected = pattern(kBytes, 12);
  EXPECT(std::memcmp(reinterpret_cast<void*>(to), expected.data(), kBytes) == 0);
}

inline void resetting() {
  async();
  CHECK(cuDevicePrimaryCtxReset_v2(0));
  CHECK(cuDevicePrimaryCtxReset_v2(1));
  async();
}

// Before anything has been copied there is nothing to lose.
inline void resetting_first() {
  (void)memory_on(0, kBytes);
  CHECK(cuDevicePrimaryCtxReset_v2(0));
  async();
}

}  // namespace program
