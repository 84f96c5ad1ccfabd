#pragma once
// A Jacobi solver's grid over n GPUs, and its iterations.
//
// GPU g has `rows` rows of the whole and a halo above and one below them: the last row of the GPU
// above, the first one of the GPU below. The grid is a ring of rows: below the last GPU is the
// first. Columns 0 and width - 1 never change. There are two such arrays, one after the other in
// one memory per GPU; iteration i makes array (i + 1) mod 2 of array i mod 2 and then exchanges the
// halos of the new array: n copies up and n down, of width·4 bytes each.

#include <cstdint>
#include <vector>

#include "core/units.h"
#include "machine/machine.h"
#include "model/program.h"

namespace polypath::bench {

struct JacobiGrid {
  std::vector<PlaceId> gpus;
  std::uint64_t width = 0;  ///< elements of a row: a multiple of kJacobiWidthStep
  std::uint64_t rows = 0;   ///< of each GPU, without the halos

  [[nodiscard]] int size() const { return static_cast<int>(gpus.size()); }
  [[nodiscard]] int above(int gpu) const { return (gpu + size() - 1) % size(); }
  [[nodiscard]] int below(int gpu) const { return (gpu + 1) % size(); }
  [[nodiscard]] std::uint64_t total_rows() const { return rows * gpus.size(); }
  [[nodiscard]] Bytes halo() const { return Bytes{sizeof(float)} * width; }
  [[nodiscard]] Bytes array() const { return halo() * (rows + 2); }  ///< of a GPU, with halos
  [[nodiscard]] Bytes memory() const { return array() * 2; }         ///< that a GPU needs
  [[nodiscard]] Bytes data() const { return halo() * total_rows(); }
  /// Where row `row` of an array begins in a GPU's memory; 0 is the halo above.
  [[nodiscard]] Slice row(int gpu, int array, std::uint64_t row) const;
};

/// Errors (invalid_argument): fewer than 2 GPUs, no rows, a width that no kernel takes.
void check(const JacobiGrid& grid);

/// A halo on its way.
struct Halo {
  int from = 0, to = 0;  ///< numbers of GPUs
  Slice source, destination;
};

/// Those of an array: all that go up, by GPU, then all that go down.
std::vector<Halo> halos_of(const JacobiGrid& grid, int array);

/// Of a GPU, nominal: three times its `reduction_bandwidth`, as a reduction reads two operands and
/// writes one.
BytesPerSecond memory_bandwidth(const Place& gpu);

/// The kernel that makes rows [first, first + rows) of array (iteration + 1) mod 2. Its number is
/// the GPU's place. It takes as long as `efficiency` of the memory's nominal bandwidth allows, and
/// a launch.
KernelCall kernel_of(const Machine& machine, const JacobiGrid& grid, double efficiency, int gpu,
                     int iteration, std::uint64_t first, std::uint64_t rows);

/// The value that an element has at first: numbers in [0, 1) without a pattern that an exchange of
/// wrong rows would keep.
float first_value(std::uint64_t row, std::uint64_t column);

/// The whole grid after so many iterations, row after row, by one loop on the host.
std::vector<float> solve_serially(std::uint64_t width, std::uint64_t rows, int iterations);

}  // namespace polypath::bench
