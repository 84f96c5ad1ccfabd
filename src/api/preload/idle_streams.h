#pragma once
// Streams that the program has found idle by calls of its own: no transfer is in flight in them,
// though one was predicted to be.

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
