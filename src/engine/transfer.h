#pragma once
// A plan bound to two addresses and a stream, and what runs it.

#include <cstdint>

#include "driver/driver.h"
#include "plan/plan.h"

namespace polypath {

struct Transfer {
  const Plan* plan = nullptr;
  Address destination;
  Address source;
  StreamHandle stream;
  PlaceId stream_gpu;  ///< whose events the stream records
  std::uint64_t id = 0;
};

/// The copy that `node` stands for, with its slot in the ring that starts at `ring_base`.
CopyRequest bind(const Machine& machine, const Transfer& transfer, const CopyNode& node,
                 Address ring_base);

}  // namespace polypath
