#pragma once
// Copies in the legacy default stream between two GPUs: each starts after
// everything that either of them has been given before, and what they are given
// next starts after it.

#include <mutex>
#include <vector>

#include "api/preload/program_ends.h"
#include "api/preload/session_streams.h"
#include "driver/cuda/cuda_driver.h"
#include "engine/execute/events.h"

namespace polypath::preload {

/// Thread-safe.
class SessionOrder {
 public:
  SessionOrder(cuda::CudaDriver& driver, const SessionStreams& streams)
      : driver_(driver), streams_(streams), ordered_(driver) {}

  /// Enqueues the copy by `enqueue`, with the default streams of both its GPUs
  /// in order with it.
  template <class Enqueue>
  auto enqueue(const ProgramQuestion& question, const Enqueue& enqueue) {
    const CopyCall& call = question.decision.call;
    const std::vector<PlaceId> others = other_gpus(question);
    order(call, others, true);
    const auto fate = enqueue();
    order(call, others, false);
    return fate;
  }

 private:
  [[nodiscard]] std::vector<PlaceId> other_gpus(const ProgramQuestion& question);
  [[nodiscard]] bool may_order_with(const ProgramEnd& end);
  void order(const CopyCall& call, const std::vector<PlaceId>& others, bool before);

  cuda::CudaDriver& driver_;
  const SessionStreams& streams_;
  std::mutex mutex_;
  EventSet ordered_;
};

}  // namespace polypath::preload
