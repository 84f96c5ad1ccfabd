#pragma once
// A computer's GPUs as its drivers report them: plain facts, nothing measured, no judgement. The
// probe layer makes a machine of them.

#include <memory>
#include <string>
#include <vector>

#include "core/units.h"
#include "driver/driver.h"
#include "machine/machine.h"

namespace polypath::driver {

/// Facts of one visible GPU; vectors over GPUs are indexed as Computer::gpus.
struct GpuFacts {
  std::string model;   ///< "NVIDIA H200"
  std::string bus_id;  ///< "0000:1b:00.0"
  std::string uuid;    ///< "GPU-01234567-89ab-cdef-0123-456789abcdef"; empty if unknown
  int number = 0;  ///< CUDA's; those that this process does not see come behind those that it does
  Bytes memory;
  int numa_node = 0;        ///< of the host; 0 if the system does not say
  int pcie_generation = 0;  ///< of the link as it can run; 0 if unknown
  int pcie_width = 0;       ///< lanes; 0 if unknown
  int copy_engines = 0;
  std::vector<bool> reaches;  ///< by peer access
  std::vector<int> links_to;  ///< direct NVLinks
  int links_to_switch = 0;    ///< NVLinks that lead to an NVSwitch
  BytesPerSecond link_rate;   ///< nominal, of one NVLink in one direction; 0 if it has none
};

/// The computer as seen through the CUDA driver, in CUDA's order: CUDA_VISIBLE_DEVICES holds.
struct Computer {
  std::string problem;  ///< why there are no GPUs, in words; empty if there are
  std::string driver;   ///< "580.159.04", or what CUDA it brings
  std::string processor;
  std::vector<GpuFacts> gpus;
};

/// Asks the drivers; creates no context. Never throws: see `problem`. Without `peer_access` the
/// GPUs are reported to reach nothing, even if they could.
Computer look_at_computer(bool peer_access = true);

/// The same with the GPUs that CUDA_VISIBLE_DEVICES hides from this process, in the order of their
/// bus ids, which all processes find. As look_at_computer() where NVML does not show them.
Computer look_at_whole_computer(bool peer_access = true);

/// `peer_access`: whether GPUs may reach each other's memory; `own_contexts`: whether streams and
/// memory of ours are in contexts of our own (driver/cuda/contexts.h); `gpus`: the numbers of the
/// machine's GPUs (GpuFacts), none: the visible ones in order. Of a hidden one the driver knows
/// memory that other processes share, and can do nothing else there.
struct GpuDriverOptions {
  bool peer_access = true;
  bool own_contexts = false;
  std::vector<int> gpus = {};
};

/// The driver of this computer's GPUs for `machine`. Error (unsupported) with the computer's
/// problem if there is one.
std::unique_ptr<Driver> open_gpu_driver(const Machine& machine,
                                        const GpuDriverOptions& options = {});

}  // namespace polypath::driver
