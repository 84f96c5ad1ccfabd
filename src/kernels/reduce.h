#pragma once
// destination = destination ∘ source on a GPU, as reduce_on_host (model/reduction.h) does it, to
// the bit. Ends that lie alike to words of 16 bytes are read and written by such words; others
// element by element, ten times as slow.

#include <cstdint>
#include <vector>

#include "core/units.h"
#include "kernels/reduce_layout.h"
#include "model/kernel.h"
#include "model/reduction.h"

namespace polypath {

/// Its numbers are those of reduce_values, its memory the destination and the source; without an
/// image for GPUs if there was no CUDA compiler when this was built.
Kernel reduce_kernel();

std::vector<std::uint64_t> reduce_values(const Reduction& reduction, Bytes bytes);

/// How a reduction is known to kernels, and back.
std::uint64_t reduction_code(const Reduction& reduction);
Reduction reduction_of(std::uint64_t code, std::uint64_t values);
/// Of an average; see reduce_layout.h.
std::uint64_t averaged_values(const Reduction& reduction);

/// How many threads for so many bytes.
LaunchShape reduce_shape(Bytes bytes);

}  // namespace polypath
