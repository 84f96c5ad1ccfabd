#pragma once
// The facts of the GPUs, from CUDA, NVML and the system's device files.

#include <string>
#include <vector>

#include "driver/computer.h"
#include "driver/cuda/cuda_types.h"

namespace polypath::cuda {

struct Facts {
  std::vector<GpuFacts> gpus;
  std::string driver_version;  ///< "580.159.04", or "CUDA 13.0" where NVML is silent
};

/// Of the visible GPUs. Asked for once per process. Needs a usable DriverLibrary.
const Facts& facts();
/// Of all GPUs (look_at_whole_computer).
const std::vector<GpuFacts>& all_gpus();
/// Of a GPU by its number. Only visible ones have contexts in this process.
const GpuFacts& facts_of(int gpu);
bool is_visible(int gpu);

std::string text_of(const GpuUuid& uuid);

}  // namespace polypath::cuda
