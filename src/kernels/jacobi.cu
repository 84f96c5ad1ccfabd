// One Jacobi step: see jacobi.h.

#include <cstdint>

#include "kernels/jacobi_layout.h"

using namespace polypath::kernels;  // NOLINT(google-build-using-namespace): kernels have C's names

namespace {

struct Parameters {
  std::uint64_t width, rows;
  float* to;
  const float* from;  // the row above the first one
};

__device__ float mean(float left, float right, float above, float below) {
  return 0.25F * (((left + right) + above) + below);
}

// Four columns of a row, the first of which is `c`; the row's own ends stay as they are.
__device__ void step_word(const Parameters& of, std::uint64_t row, std::uint64_t c) {
  const float* const here = of.from + (row + 1) * of.width + c;
  const float4 middle = *reinterpret_cast<const float4*>(here);
  const float4 above = *reinterpret_cast<const float4*>(here - of.width);
  const float4 below = *reinterpret_cast<const float4*>(here + of.width);
  const bool first = c == 0, last = c + kJacobiColumnsOfThread == of.width;
  float4 next;
  next.x = first ? middle.x : mean(here[-1], middle.y, above.x, below.x);
  next.y = mean(middle.x, middle.z, above.y, below.y);
  next.z = mean(middle.y, middle.w, above.z, below.z);
  next.w = last ? middle.w : mean(middle.z, here[4], above.w, below.w);
  *reinterpret_cast<float4*>(of.to + row * of.width + c) = next;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kJacobiThreads)
    jacobi(const __grid_constant__ Parameters of) {
  const std::uint64_t of_row = (of.width + kJacobiColumnsOfBlock - 1) / kJacobiColumnsOfBlock;
  for (std::uint64_t task = blockIdx.x; task < of_row * of.rows; task += gridDim.x) {
    const std::uint64_t row = task / of_row, begin = task % of_row * kJacobiColumnsOfBlock;
    const std::uint64_t end = min(begin + kJacobiColumnsOfBlock, of.width);
    for (std::uint64_t c = begin + threadIdx.x * kJacobiColumnsOfThread; c < end;
         c += std::uint64_t{blockDim.x} * kJacobiColumnsOfThread)
      step_word(of, row, c);
  }
}
