#pragma once
// The traffic of a kernel over hops: it reads and writes memory of other places itself, 16 bytes
// per thread and instruction, and reaches a part of a copy engine's rate
// (DriverBehaviour::kernel_efficiency).

#include <vector>

#include "model/fluid.h"

namespace polypath::model {

class KernelTraffic {
 public:
  KernelTraffic(const Machine& machine, PlaceId gpu) : machine_(machine), gpu_(gpu) {}

  /// Memory that the kernel reads or writes; nothing to do if it is the GPU's own. Error
  /// (invalid_argument) if no hop leads there.
  void add(PlaceId place, Bytes bytes, bool writes);
  /// One flow per hop, of as many bytes as a copy would have that takes as long.
  [[nodiscard]] const std::vector<Traffic>& flows() const { return flows_; }

 private:
  const Machine& machine_;
  PlaceId gpu_;
  std::vector<Traffic> flows_;
};

}  // namespace polypath::model
