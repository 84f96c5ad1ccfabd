#pragma once
// result = ((x0 ∘ x1) ∘ x2) ∘ … of memory of one GPU, as reduce_on_host (model/reduction.h) does it
// step by step, to the bit. The result may be where an operand is. Memory that lies alike to words
// of 16 bytes is read and written by such words; other memory element by element, ten times as
// slow.
//
// One kernel for n operands reads and writes n + 1 times the bytes of the result; n − 1 kernels for
// two would 3(n − 1) times.

#include <cstdint>
#include <span>
#include <vector>

#include "core/units.h"
#include "kernels/reduce_layout.h"
#include "model/kernel.h"
#include "model/reduction.h"

namespace polypath::kernels {

/// Its numbers are those of reduce_values, its memory the result and then the operands; without an
/// image for GPUs if there was no CUDA compiler when this was built.
Kernel reduce_kernel();

/// `values_of` says of how many values each of the operands is, at most kMostOperands of them; its
/// numbers matter to averages only, and so do those of `reduction`, but for how many there are in
/// all.
std::vector<std::uint64_t> reduce_values(const Reduction& reduction, Bytes bytes,
                                         std::span<const int> values_of);

/// How a reduction is known to kernels, and back.
std::uint64_t reduction_code(const Reduction& reduction);
Reduction reduction_of(std::uint64_t code, std::uint64_t values);

/// How many threads for so many bytes of the result.
LaunchShape reduce_shape(Bytes bytes);

}  // namespace polypath::kernels
