#pragma once
// Properties of a machine's GPUs in the stand-in drivers: facts that follow from its description,
// so that the CUDA driver, NVML and all processes agree on them.

#include <array>
#include <string>
#include <vector>

#include "machine/machine.h"

namespace polypath::standin {

/// Where an NVLink leads: the index of a GPU, or to a switch.
constexpr int kToSwitch = -1;

struct Gpu {
  std::size_t index = 0;  ///< among the machine's GPUs
  PlaceId place;
  std::string name;  ///< "NVIDIA H200"
  std::array<unsigned char, 16> uuid{};
  int bus = 0;  ///< of PCI, in domain 0, device 0
  int compute_major = 9, compute_minor = 0;
  int pcie_generation = 0;
  int pcie_width = 16;                 ///< lanes; fewer where the oldest generation would do
  unsigned link_version = 0;           ///< as NVML counts: 2 is NVLink 2.0, 4 is 3.0, 6 is 4.0
  std::vector<int> links;              ///< where each NVLink leads
  std::vector<bool> reaches;           ///< which GPUs of the machine, by peer access
  std::vector<int> performance_ranks;  ///< of the connection to each GPU; 0 is the best
};

/// All GPUs of the machine, in its order.
std::vector<Gpu> gpus_of(const Machine& machine);

/// "GPU-01234567-89ab-cdef-0123-456789abcdef"
std::string uuid_text(const Gpu& gpu);
/// "0000:1B:00.0"
std::string bus_id(const Gpu& gpu);

/// The indices that CUDA_VISIBLE_DEVICES leaves visible, in its order. As with CUDA, the list ends
/// before the first entry that names no GPU, and a GPU named twice leaves none.
std::vector<std::size_t> visible_gpus(const std::vector<Gpu>& gpus, const std::string& visible);

}  // namespace polypath::standin
