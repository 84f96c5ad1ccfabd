#pragma once
// Access between two GPUs, switched on and off, and copies between them.

#include "harm.h"

namespace program {

inline std::size_t bytes() { return options().number("bytes", 64 * kMiB + 7); }

// Primary contexts of two GPUs, each retained once.
struct Pair {
  CUcontext first = context_of(0), second = context_of(1);
};

inline int enable(CUcontext from, CUcontext to) {
  CHECK(cuCtxSetCurrent(from));
  return cuCtxEnablePeerAccess(to, 0);
}

inline int disable(CUcontext from, CUcontext to) {
  CHECK(cuCtxSetCurrent(from));
  return cuCtxDisablePeerAccess(to);
}

inline void say_result(const std::string& what, int result) {
  std::printf("%s: %d\n", what.c_str(), result);
}

// Large copies both ways between two GPUs; wrong bytes.
inline std::size_t wrong_copies(CUcontext first, CUcontext second) {
  const auto in = [](CUcontext context, std::uint64_t seed) {
    CHECK(cuCtxSetCurrent(context));
    CUdeviceptr memory = 0;
    CHECK(cuMemAlloc_v2(&memory, bytes()));
    if (seed != 0) write(memory, pattern(bytes(), seed));
    return memory;
  };
  const CUdeviceptr there = in(second, 0), from = in(first, 1), back = in(first, 0);
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, 1));
  for (int i = 0; i < 3; ++i) {
    CHECK(cuMemcpyDtoDAsync_v2(there, from, bytes(), stream));
    CHECK(cuMemcpyDtoDAsync_v2(back, there, bytes(), stream));
  }
  CHECK(cuStreamSynchronize(stream));
  const std::size_t wrong =
      wrong_bytes(there, pattern(bytes(), 1)) + wrong_bytes(back, pattern(bytes(), 1));
  for (const CUdeviceptr memory : {there, from, back}) CHECK(cuMemFree_v2(memory));
  CHECK(cuStreamDestroy_v2(stream));
  return wrong;
}

inline void say_copies(const std::string& when, CUcontext first, CUcontext second) {
  say_bytes("copies " + when, wrong_copies(first, second));
}

}  // namespace program
