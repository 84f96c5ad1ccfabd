#pragma once
// Memory that other ranks reach. They are of one process, which has one driver: the address says it
// all.

#include <map>

#include "driver/sim/sim_memory.h"
#include "driver/sim/simulation.h"

namespace polypath::sim {

/// The functions are those of Driver with the same names.
class SimSharing {
 public:
  SimSharing(Simulation& simulation, const SimMemory& memory)
      : simulation_(simulation), memory_(memory) {}

  ExportedMemory export_memory(Address address);
  Address import_memory(const ExportedMemory& memory, PlaceId gpu);
  void release_import(Address address);
  /// Imports that were not given back.
  [[nodiscard]] std::size_t count() const { return imports_.size(); }

 private:
  Simulation& simulation_;
  const SimMemory& memory_;
  std::map<Address, int> imports_;
};

}  // namespace polypath::sim
