#pragma once
// Facts about a GPU that NVML knows and CUDA does not: its PCIe link and where its NVLinks lead.
// Opened at run time; where it is not found, or says nothing, the answers are zeros.

#include <set>
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

/// Of the GPUs with these PCI bus ids, in that order. NVML stays open after the first question.
NvmlAnswer ask_nvml(const std::vector<std::string>& bus_ids);

struct NvmlGpu {
  std::string bus_id, uuid, model;
  Bytes memory;
};

/// All GPUs of the computer, or of the container, those too that CUDA does not show, in the order
/// of their bus ids. Empty where NVML is silent.
std::vector<NvmlGpu> gpus_of_nvml();
/// True if a GPU can read and write the memory of another one, by PCI bus id.
bool reaches_by_nvml(const std::string& from, const std::string& to);

/// The numbers of the processes that have contexts on the GPU with this PCI bus id; none where NVML
/// is silent. In a container they may be the host's.
std::set<unsigned> processes_on(const std::string& bus_id);

/// True if one of them is not this process, whose number is `own`. `has_context`: this process has
/// a context there; then it is one of them, under any number.
inline bool are_others_among(const std::set<unsigned>& processes, unsigned own, bool has_context) {
  const bool is_here = has_context || processes.contains(own);
  return processes.size() > (is_here ? 1U : 0U);
}

}  // namespace polypath::cuda
