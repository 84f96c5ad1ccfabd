#pragma once
// What NVML knows of a GPU and CUDA does not: its PCIe link and where its NVLinks lead. Opened at
// run time; where it is not found, or says nothing, the answers are zeros.

#include <string>
#include <vector>

#include "core/units.h"

namespace polypath::cuda {

struct NvLinks {
  std::vector<std::string> gpus;  ///< PCI bus id of the GPU at the other end, one per direct link
  int to_switch = 0;
  BytesPerSecond rate;  ///< nominal, of one link in one direction
};

struct NvmlFacts {
  int pcie_generation = 0;
  int pcie_width = 0;
  NvLinks links;
};

struct NvmlAnswer {
  std::vector<NvmlFacts> gpus;
  std::string driver_version;  ///< as people know it, "580.159.04"; empty if NVML does not say
};

/// Of the GPUs with these PCI bus ids, in that order.
NvmlAnswer ask_nvml(const std::vector<std::string>& bus_ids);

/// True if processes have contexts on the GPU with this PCI bus id; false where NVML is silent.
/// NVML stays open after the first question.
bool has_processes(const std::string& bus_id);

}  // namespace polypath::cuda
