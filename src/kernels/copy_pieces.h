#pragma once
// A kernel that copies many small pieces, wherever they are: one launch instead of a copy each.
//
// A copy engine takes 1 to 3 us for every copy beside its bytes, a thread 1.5 us to ask for it. The
// kernel's threads read 16 bytes at a time, several of them in flight, straight from where a piece
// is and write to where it is to be: the host's memory over PCIe, another GPU's over NVLink. 512
// pieces of 64 KiB from the host take an H200 670 us by 8 blocks, 838 in one batch of copies and
// 1913 one by one; two GPUs with half of them each, 351 (results/h200x2/many.json).

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/units.h"
#include "kernels/piece_layout.h"
#include "model/kernel.h"

namespace polypath::kernels {

/// The kernel for up to so many pieces, one of the two numbers of piece_layout.h; without an image
/// for GPUs if there was no CUDA compiler when this was built. Its numbers are those of
/// piece_values, its memory by piece the source and the destination.
Kernel copy_pieces_kernel(std::size_t most);

/// The numbers of a call for pieces of these sizes.
std::vector<std::uint64_t> piece_values(std::span<const Bytes> sizes);

}  // namespace polypath::kernels
