#pragma once
// Requests to the engine, and its answers.

#include <optional>

#include "core/error.h"
#include "driver/driver.h"
#include "engine/call/reach.h"
#include "model/predict.h"
#include "plan/options.h"
#include "plan/plan.h"

namespace polypath::engine {

/// The two ends of a copy: interfaces about memory name the destination first, as memcpy does.
struct CopyEnds {
  PlaceId destination;
  PlaceId source;
  MemoryKind destination_kind = MemoryKind::device;
  MemoryKind source_kind = MemoryKind::device;
  Reach destination_reach = {};
  Reach source_reach = {};

  /// Any GPU may touch both.
  [[nodiscard]] bool are_open() const {
    return destination_reach.everyone() && source_reach.everyone();
  }
  /// True if several paths can lead there: the GPU of the stream makes the direct copy, and the GPU
  /// that has the memory what goes over others.
  [[nodiscard]] bool let_in(PlaceId stream_gpu) const {
    return destination_reach.includes(stream_gpu) && source_reach.includes(stream_gpu) &&
           (destination_reach.everyone() || destination_reach.includes(destination)) &&
           (source_reach.everyone() || source_reach.includes(source));
  }

  /// The driver knows both memories and leaves them where they are.
  [[nodiscard]] bool stay_where_they_are() const {
    const auto stays = [](MemoryKind kind) {
      return kind == MemoryKind::device || kind == MemoryKind::pinned;
    };
    return stays(source_kind) && stays(destination_kind);
  }
};

/// One copy to be made.
struct CopyCall {
  Address destination;
  Address source;
  Bytes bytes = {};
  StreamHandle stream = {};
  PlaceId stream_gpu = {};  ///< the GPU the stream belongs to
  PlanOptions options = {};
  /// Several paths are taken on a busy machine only where they are on an idle one.
  bool cautious = false;
  /// The number of copies like it that went natively since the engine was last asked about one,
  /// because a preparation for them was under way.
  int unasked = 0;
};

inline bool overlaps_itself(const CopyCall& call) {
  return call.source.value < call.destination.value + call.bytes.value &&
         call.destination.value < call.source.value + call.bytes.value;
}

/// By what means a copy is made.
enum class Method {
  nothing,  ///< it has no bytes
  native,   ///< one copy of the driver's
  paths,    ///< its plan's, of which there is more than one or a staged one
  windows,  ///< through pinned windows, each of them planned by itself
};

/// Why one native copy was made where several paths were planned.
enum class FallbackReason {
  none,
  failed,      ///< a driver call
  preparing,   ///< the plan, streams or staging memory are being made in the background
  no_lane,     ///< all lanes hold work that waits for other streams of the program
  queue_full,  ///< the call would have waited for room in a stream
  reads_peer,  ///< the destination's GPU reads, and copies through the host would wait for that
};

/// How a copy was done.
struct CopyResult {
  Executor executor = Executor::native;
  PlanPointer plan = nullptr;  ///< null for a native copy that needed no plan, or met an obstacle;
                               ///< the last window's if the copy went through pinned windows
  FallbackReason obstacle = FallbackReason::none;
  Method means = Method::native;
  /// The engine has made the native copy although the caller would have, because it was timed.
  bool made_here = false;
  /// The cost of the obstacle, if it is known: the predicted native time less the predicted time
  /// over several paths, of this copy and of those like it that did not ask (CopyCall::unasked).
  Seconds missed = {};
};

/// Part of a transfer may be queued, and cannot be waited for.
class UnsettledError : public Error {
 public:
  using Error::Error;
};

}  // namespace polypath::engine
