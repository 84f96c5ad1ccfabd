#include "engine/enqueue/copy_records.h"

#include "engine/call/memory_of_call.h"

namespace polypath::engine {

void CopyRecords::note(const Decision& decision, const CopyResult& result) {
  count_asked(decision.call);
  count_done(result);
  note_load(decision);
  if (decision.measurement && result.obstacle == FallbackReason::none)
    learner_.add(decision.measurement);
  const bool by_decision =
      result.means == Method::native && result.obstacle == FallbackReason::none;
  const bool knows_why = decision.plan || decision.call.bytes < decision.native_threshold;
  const bool by_itself = decision.planned_for != PlannedFor::calls_together;
  const bool lasts = by_itself && !decision.recalled && !decision.learnt && !decision.until_graph;
  if (by_decision && knows_why && lasts) recent_.remember(decision);
}

void CopyRecords::note_load(const Decision& decision) {
  if (decision.plan && decision.time) {
    learner_.disturb(decision.call.stream);
    load_.add(decision.call.stream, decision.plan, *decision.time, decision.contention);
  }
}

// A recalled decision has not looked at the call's memory.
CopyEnds CopyRecords::note_failure(const Decision& decision) {
  CopyEnds ends = decision.ends;
  if (decision.recalled) {
    recent_.forget(decision.call);
    ends = resolve_memory(driver_, decision.call);
  }
  count_asked(decision.call);
  ++statistics_.errors;
  return ends;
}

void CopyRecords::count_piece(const CopyCall& call) {
  count_asked(call);
  ++statistics_.streams;
}

void CopyRecords::count_failed_piece(const CopyCall& call) {
  count_asked(call);
  ++statistics_.errors;
}

void CopyRecords::count_asked(const CopyCall& call) {
  ++statistics_.transfers;
  statistics_.bytes += call.bytes;
}

void CopyRecords::count_done(const CopyResult& result) {
  switch (result.means) {
    case Method::nothing: return;
    case Method::windows: ++statistics_.pageable; return;
    case Method::native:
      ++(result.obstacle == FallbackReason::failed ? statistics_.fallbacks : statistics_.native);
      return;
    case Method::paths:
      ++(result.executor == Executor::graph ? statistics_.graphs : statistics_.streams);
      count_staged(*result.plan);
      return;
  }
}

void CopyRecords::count_staged(const Plan& plan) {
  for (const PathShape& part : plan.shape.paths)
    if (part.path.staged())
      for (const Bytes chunk : part.chunks) statistics_.staged_bytes += chunk;
}

}  // namespace polypath::engine
