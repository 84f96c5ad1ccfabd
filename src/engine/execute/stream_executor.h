#pragma once
// Runs a program as operations on streams, tied together by events: the calls of
// model/stream_calls.h.
//
//   caller's stream:  fork ── direct copy ──────────────────────────── join ──
//   first hop:          └─ copy c0 ─ copy c1 ─ ... (slot free?) copy cR ─ ...
//   second hop:                └─ copy c0 ─ copy c1 ─ ...           ────┘

#include <map>

#include "engine/execute/hops.h"
#include "engine/execute/transfer.h"

namespace polypath::engine {

class StreamExecutor {
 public:
  StreamExecutor(Driver& driver, Hops& hops) : driver_(driver), hops_(hops), forked_(driver) {}

  /// Creates what the program needs, so that run() only enqueues. Errors leave nothing behind.
  void prepare(const Transfer& transfer);
  /// Enqueues the transfer. After an error some of it may be enqueued: settle the hops.
  void run(const Transfer& transfer);
  /// The event that run() records in a caller's stream of this GPU before everything else.
  [[nodiscard]] EventHandle forked_on(PlaceId gpu) { return forked_.on(gpu); }

 private:
  [[nodiscard]] EventList& in_callers_streams(PlaceId gpu);

  Driver& driver_;
  Hops& hops_;
  EventSet forked_;
  std::map<PlaceId, EventList> in_callers_;  ///< of nodes in callers' streams, by Node::event
};

}  // namespace polypath::engine
