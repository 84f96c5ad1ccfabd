#pragma once
// How fast the memory of GPUs is: by model, from the makers' data sheets. It is what kernels that
// do little with much memory are limited by, and no copy between GPUs is.

#include <string>

#include "core/units.h"
#include "machine/machine.h"

namespace polypath {

struct MemoryBandwidth {
  BytesPerSecond value;  ///< nominal: reads and writes together
  std::string source;
};

/// Of a GPU of the machine. Of a model that no data sheet is known of it is what a reduction's two
/// reads and a write come to at the place's reduction_bandwidth.
MemoryBandwidth memory_bandwidth(const Place& gpu);

}  // namespace polypath
