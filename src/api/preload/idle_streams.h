#pragma once
// What the program has found out about its streams by calls of its own: those that are idle have no
// transfer in flight, whatever was predicted.

#include <optional>

#include "driver/cuda/cuda_driver.h"
#include "engine/load/load_tracker.h"

namespace polypath::preload {

/// Thread-safe. Each function is told what LoadTracker::newest() said before the program's call.
class IdleStreams {
 public:
  IdleStreams(LoadTracker& load, cuda::CudaDriver& driver) : load_(load), driver_(driver) {}

  /// The stream is idle; of the default stream that each thread has, the calling thread's.
  void note(cuda::StreamPointer stream, TransferNumber newest);
  /// All streams of the context are, or with null those of the current one.
  void note_all_of(cuda::ContextPointer context, TransferNumber newest);

 private:
  [[nodiscard]] std::optional<int> gpu_of(cuda::ContextPointer context) const;

  LoadTracker& load_;
  cuda::CudaDriver& driver_;
};

}  // namespace polypath::preload
