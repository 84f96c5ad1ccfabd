#pragma once
// Runs a plan as copies on streams, tied together by events.
//
//   caller's stream:  fork ── direct copy ──────────────────────────── join ──
//   first hop:          └─ copy c0 ─ copy c1 ─ ... (slot free?) copy cR ─ ...
//   second hop:                └─ copy c0 ─ copy c1 ─ ...           ────┘

#include "engine/hops.h"
#include "engine/transfer.h"

namespace polypath {

class StreamExecutor {
 public:
  StreamExecutor(Driver& driver, const Machine& machine, Hops& hops)
      : driver_(driver), machine_(machine), hops_(hops), forked_(driver) {}

  /// Creates what the plan needs, so that run() only enqueues. Errors leave nothing behind.
  void prepare(const Transfer& transfer);
  /// Enqueues the transfer. After an error some of it may be enqueued: settle the hops.
  void run(const Transfer& transfer);
  /// The event that run() records in a caller's stream of this GPU before everything else.
  [[nodiscard]] EventHandle forked_on(PlaceId gpu) { return forked_.on(gpu); }

 private:
  void issue(const Transfer& transfer, std::size_t index);
  void issue_first(const Transfer& transfer, const CopyNode& node);
  void issue_second(const Transfer& transfer, const CopyNode& node);
  void join(const Transfer& transfer);

  Driver& driver_;
  const Machine& machine_;
  Hops& hops_;
  EventSet forked_;
};

}  // namespace polypath
