#pragma once
// Whether bytes arrive that one GPU writes into another one's memory, or reads there.
//
// Behind ACS or an IOMMU a driver may grant peer access and then drop what is written over it,
// without an error (vllm#51513, pytorch#84803, open-gpu-kernel-modules#1257).

#include "driver/cuda/cuda_types.h"

namespace polypath::cuda {

enum class Arrival {
  right,    ///< every byte
  wrong,    ///< not every one
  unknown,  ///< other work held the GPUs up, or there was no memory for it
};

/// A GPU with its primary context.
struct CheckedGpu {
  Device number;
  ContextPointer context = nullptr;
};

/// Writes a pattern from one GPU into memory of the other, which looks at it, and reads another one
/// from there. Only the memory that is made for it is opened: no access of the contexts is needed
/// or changed. Takes less than a millisecond of GPUs that are free, and waits no longer than 100 ms
/// for a copy. Thread-safe.
Arrival check_arrival(const CheckedGpu& accessing, const CheckedGpu& owner);

}  // namespace polypath::cuda
