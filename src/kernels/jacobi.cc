#include "kernels/jacobi.h"

#include <algorithm>
#include <cstring>

#include "kernels/images.h"
#include "kernels/jacobi_layout.h"

namespace polypath::kernels {
namespace {

// Blocks go on with the next rows: more than this many are no faster on any GPU, which holds some
// thousands at a time.
constexpr std::uint64_t kMostJacobiBlocks = 4'096;

void step_row(float* to, const float* from, std::uint64_t width) {
  const float* above = from - width;
  const float* below = from + width;
  to[0] = from[0];
  for (std::uint64_t c = 1; c + 1 < width; ++c)
    to[c] = 0.25F * (((from[c - 1] + from[c + 1]) + above[c]) + below[c]);
  to[width - 1] = from[width - 1];
}

void step_on_host(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  const std::uint64_t width = values[kJacobiWidth];
  auto* to = reinterpret_cast<float*>(memory[0]);
  const auto* from = reinterpret_cast<const float*>(memory[1]) + width;
  for (std::uint64_t row = 0; row < values[kJacobiRows]; ++row)
    step_row(to + row * width, from + row * width, width);
}

}  // namespace

Kernel jacobi_kernel() {
  return {.name = "jacobi",
          .image = std::string(kernel_image("jacobi")),
          .on_host = step_on_host,
          .parameters = kJacobiWords + 2};
}

std::vector<std::uint64_t> jacobi_values(std::uint64_t width, std::uint64_t rows) {
  return {width, rows};
}

LaunchShape jacobi_shape(std::uint64_t width, std::uint64_t rows) {
  const std::uint64_t of_row = (width + kJacobiColumnsOfBlock - 1) / kJacobiColumnsOfBlock;
  return {.blocks =
              static_cast<unsigned>(std::clamp<std::uint64_t>(of_row * rows, 1, kMostJacobiBlocks)),
          .threads_per_block = kJacobiThreads};
}

Bytes jacobi_traffic(std::uint64_t width, std::uint64_t rows) {
  return Bytes{sizeof(float)} * (width * (2 * rows + 2));
}

}  // namespace polypath::kernels
