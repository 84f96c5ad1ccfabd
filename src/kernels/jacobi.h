#pragma once
// One Jacobi step of the 5-point stencil on rows of float32:
//
//   b(r, c) = (((a(r, c-1) + a(r, c+1)) + a(r-1, c)) + a(r+1, c)) / 4     0 < c < width - 1
//   b(r, c) = a(r, c)                                                    c = 0, c = width - 1
//
// The sums are rounded in this order, so that GPUs, hosts and other programs get the same bits.
// Each element is read from memory once and written once, as far as caches hold the row before:
// the step takes as long as memory does, (2·rows + 2)·width·4 bytes over its bandwidth.

#include <cstdint>
#include <vector>

#include "core/units.h"
#include "model/kernel.h"

namespace polypath::kernels {

/// Widths are multiples of so many elements, so that rows begin at words of 16 bytes.
inline constexpr std::uint64_t kJacobiWidthStep = 4;

/// Its numbers are those of jacobi_values; its memory is where the first of the rows is written,
/// and where the row above it is read. Without an image for GPUs if there was no CUDA compiler when
/// this was built.
Kernel jacobi_kernel();

/// Of `rows` rows of `width` elements.
std::vector<std::uint64_t> jacobi_values(std::uint64_t width, std::uint64_t rows);
LaunchShape jacobi_shape(std::uint64_t width, std::uint64_t rows);

/// The bytes that the step moves from and to memory: reads rows + 2 rows, writes rows.
Bytes jacobi_traffic(std::uint64_t width, std::uint64_t rows);

}  // namespace polypath::kernels
