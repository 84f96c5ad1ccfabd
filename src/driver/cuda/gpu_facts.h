#pragma once
// The facts of the visible GPUs, from CUDA, NVML and the system's device files.

#include <string>
#include <vector>

#include "driver/computer.h"

namespace polypath::cuda {

struct Facts {
  std::vector<GpuFacts> gpus;
  std::string driver_version;  ///< "580.159.04", or "CUDA 13.0" where NVML is silent
};

/// Asked for once per process. Needs a usable DriverLibrary.
const Facts& facts();

}  // namespace polypath::cuda
