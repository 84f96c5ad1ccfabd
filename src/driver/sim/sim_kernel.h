#pragma once
// Kernels of the simulated driver: functions of the host.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "driver/sim/sim_memory.h"
#include "driver/sim/simulation.h"

namespace polypath::sim {

struct SimKernel {
  PlaceId gpu;
  std::string name;
  std::size_t parameters = 0;                  ///< as Kernel::parameters
  std::shared_ptr<const HostKernel> function;  ///< kept by queued work
  std::shared_ptr<const HostKernel> after_exchange;
};

/// Those that are loaded. The functions are those of Driver with the same names.
class SimKernels {
 public:
  SimKernels(Simulation& simulation, const SimMemory& memory)
      : simulation_(simulation), memory_(memory) {}

  KernelHandle load(PlaceId gpu, const Kernel& kernel);
  void unload(KernelHandle kernel);
  [[nodiscard]] bool reach(PlaceId gpu, Address address) const;
  /// Those that were not unloaded.
  [[nodiscard]] std::size_t count() const { return kernels_.size(); }

  /// Error (invalid_argument) if there is none.
  [[nodiscard]] const SimKernel& at(KernelHandle handle) const;
  /// What a function of a run does when it is over; empty if no bytes move and no trace is
  /// recorded.
  [[nodiscard]] std::function<void(const Activity&)> on_memory(
      const KernelRequest& request, std::shared_ptr<const HostKernel> function,
      std::size_t lap = 0) const;

 private:
  Simulation& simulation_;
  const SimMemory& memory_;
  std::map<KernelHandle, SimKernel> kernels_;
};

}  // namespace polypath::sim
