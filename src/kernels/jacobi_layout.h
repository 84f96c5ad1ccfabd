#pragma once
// The row parameters of the kernel `jacobi`: numbers of 64 bits. Its memory is the first row that
// it writes, then the row above that one in the array that it reads.

#include <cstdint>

namespace polypath::kernels {

/// The values of a `jacobi` kernel.
enum JacobiWord : std::uint64_t { kJacobiWidth, kJacobiRows, kJacobiWords };

inline constexpr unsigned kJacobiThreads = 256;                ///< of a block
inline constexpr std::uint64_t kJacobiColumnsOfThread = 4;     ///< at a time: a word of 16 bytes
inline constexpr std::uint64_t kJacobiColumnsOfBlock = 4'096;  ///< of a row, before the next one

}  // namespace polypath::kernels
