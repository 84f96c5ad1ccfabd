#pragma once
// A kernel that awaits a flag in its GPU's memory and then writes it, as cuStreamWaitValue32 and
// cuStreamWriteValue32 do. In a graph such a node leaves the branches beside it alone, where theirs
// hold each other up: reductions began only when the copies beside them were over, and an
// all-reduce of 256 MiB took 775 us instead of 720 (results/h200x2/graph_queues.json).

#include <cstdint>
#include <vector>

#include "model/kernel.h"

namespace polypath::kernels {

/// Its numbers are those of await_flag_values, its memory the flag. Without an image for GPUs if
/// there was no CUDA compiler when this was built.
Kernel await_flag_kernel();

/// Until the flag is `value`; it is `then` afterwards.
std::vector<std::uint64_t> await_flag_values(std::uint32_t value, std::uint32_t then);

}  // namespace polypath::kernels
