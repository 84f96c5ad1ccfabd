#include "bench/jacobi_grid.h"

#include <fmt/format.h>

#include "core/error.h"
#include "kernels/jacobi.h"

namespace polypath::bench {

Slice JacobiGrid::row(int gpu, int array, std::uint64_t row) const {
  return {gpu, this->array() * static_cast<std::uint64_t>(array) + halo() * row};
}

void check(const JacobiGrid& grid) {
  if (grid.size() < 2)
    fail(ErrorCode::invalid_argument, fmt::format("{} GPUs have no halos", grid.size()),
         "halos go from GPU to GPU", "Name a machine of 2 GPUs or more.");
  if (grid.rows == 0)
    fail(ErrorCode::invalid_argument, "a grid without rows cannot be solved",
         "each GPU has at least one", "Ask for more.");
  if (grid.width == 0 || grid.width % kJacobiWidthStep != 0)
    fail(ErrorCode::invalid_argument, fmt::format("a halo of {} bytes", grid.halo().value),
         "rows are whole words of 16 bytes", "Round it to a multiple of 16.");
}

std::vector<Halo> halos_of(const JacobiGrid& grid, int array) {
  std::vector<Halo> halos;
  for (int gpu = 0; gpu < grid.size(); ++gpu)
    halos.push_back({gpu, grid.above(gpu), grid.row(gpu, array, 1),
                     grid.row(grid.above(gpu), array, grid.rows + 1)});
  for (int gpu = 0; gpu < grid.size(); ++gpu)
    halos.push_back({gpu, grid.below(gpu), grid.row(gpu, array, grid.rows),
                     grid.row(grid.below(gpu), array, 0)});
  return halos;
}

BytesPerSecond memory_bandwidth(const Place& gpu) {
  constexpr double kOperands = 3;
  return {kOperands * gpu.reduction_bandwidth.value};
}

KernelCall kernel_of(const Machine& machine, const JacobiGrid& grid, double efficiency, int gpu,
                     int iteration, std::uint64_t first, std::uint64_t rows) {
  const PlaceId place = grid.gpus[static_cast<std::size_t>(gpu)];
  const int from = iteration % 2, to = 1 - from;
  const BytesPerSecond rate{efficiency * memory_bandwidth(machine.place(place)).value};
  return {
      .kernel = static_cast<int>(place.index()),
      .gpu = place,
      .memory = {{grid.row(gpu, to, first), grid.halo() * rows, true},
                 {grid.row(gpu, from, first - 1), grid.halo() * (rows + 2)}},
      .values = jacobi_values(grid.width, rows),
      .shape = jacobi_shape(grid.width, rows),
      .duration = machine.place(place).reduction_latency + jacobi_traffic(grid.width, rows) / rate};
}

float first_value(std::uint64_t row, std::uint64_t column) {
  constexpr std::uint64_t kPrime = 1009;
  return static_cast<float>((row * 131 + column * 71 + row * column % 13) % kPrime) /
         static_cast<float>(kPrime);
}

std::vector<float> solve_serially(std::uint64_t width, std::uint64_t rows, int iterations) {
  std::vector<float> now(width * rows);
  for (std::uint64_t i = 0; i < now.size(); ++i) now[i] = first_value(i / width, i % width);
  std::vector<float> next = now;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    for (std::uint64_t row = 0; row < rows; ++row) {
      const std::uint64_t above = (row + rows - 1) % rows, below = (row + 1) % rows;
      for (std::uint64_t c = 1; c + 1 < width; ++c)
        next[row * width + c] =
            0.25F *
            (((now[row * width + c - 1] + now[row * width + c + 1]) + now[above * width + c]) +
             now[below * width + c]);
    }
    std::swap(now, next);
  }
  return now;
}

}  // namespace polypath::bench
