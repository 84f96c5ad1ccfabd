#pragma once
// Streams of one GPU that are put in order with each other.

#include <span>

#include "engine/execute/events.h"
#include "nccl/call.h"

namespace polypath::nccl {

/// Not thread-safe.
class TiedStreams {
 public:
  TiedStreams(Driver& driver, PlaceId gpu) : driver_(driver), gpu_(gpu), joined_(driver) {}

  /// Work already in one of them comes before later work in any of them. Returns the first one.
  StreamHandle tie(std::span<const StreamHandle> streams);

 private:
  Driver& driver_;
  PlaceId gpu_;
  EventSet joined_;
};

}  // namespace polypath::nccl
