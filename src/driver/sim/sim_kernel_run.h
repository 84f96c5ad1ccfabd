#pragma once
// Runs of kernels, which take as long as their call says. Kernels of one GPU are not taken to slow
// each other.

#include <vector>

#include "driver/sim/sim_kernel.h"
#include "driver/sim/sim_kernel_group.h"
#include "driver/sim/sim_memory.h"
#include "driver/sim/sim_streams.h"
#include "driver/sim/simulation.h"

namespace polypath::sim {

class SimKernelRuns {
 public:
  SimKernelRuns(Simulation& simulation, const SimMemory& memory, SimStreams& streams,
                const SimKernels& kernels, SimKernelGroups& groups)
      : simulation_(simulation),
        memory_(memory),
        streams_(streams),
        kernels_(kernels),
        groups_(groups) {}

  /// As Driver::run.
  void run(const KernelRequest& request, StreamHandle stream);

  /// Error (invalid_argument) if it cannot run so.
  void check(const KernelRequest& request) const;
  /// The kernel; of one that meets others, its first part.
  [[nodiscard]] ActivityPointer make_activity(const KernelRequest& request) const;
  /// One more step of the thread, and what it reads and writes.
  void step(const KernelRequest& request, std::size_t thread);

 private:
  [[nodiscard]] std::vector<Traffic> traffic_of(const KernelRequest& request) const;

  Simulation& simulation_;
  const SimMemory& memory_;
  SimStreams& streams_;
  const SimKernels& kernels_;
  SimKernelGroups& groups_;
};

}  // namespace polypath::sim
