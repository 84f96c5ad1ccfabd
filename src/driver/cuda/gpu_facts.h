#pragma once
// The facts of the visible GPUs, from CUDA, NVML and the system's device files.

#include <string>
#include <vector>

#include "driver/computer.h"

namespace polypath::cuda {

/// Needs a usable Library.
std::vector<GpuFacts> gpu_facts();

/// "580.159.04", or "CUDA 13.0" where NVML is silent.
std::string driver_version();

}  // namespace polypath::cuda
