#include "engine/enqueue/lane_runner.h"

#include <fmt/format.h>

#include <array>

#include "core/error.h"
#include "core/log.h"
#include "engine/learn/measurement.h"

namespace polypath::engine {

// Paths are timed one by one as streams.
Executor LaneRunner::executor_for(const Decision& decision) const {
  const bool chosen = plans_.choice_of(decision.call.options).has_value();
  const bool timed = decision.measurement && decision.measurement->advice.path_by_path;
  return timed && !chosen ? Executor::stream : decision.plan->executor();
}

// Null: there is none.
Lane* LaneRunner::lane_for(const Decision& decision) {
  const StreamHandle stream = decision.call.stream;
  if (decision.planned_for == PlannedFor::calls_together) return lanes_.lend_apart(stream);
  return decision.is_of_set() ? lanes_.lend_idle(stream) : lanes_.lend(stream);
}

FallbackReason LaneRunner::run(const Decision& decision, Executor& executor) {
  const CopyCall& call = decision.call;
  const PlanPointer& plan = decision.plan;
  if (lanes_.any_held_beside(call.stream)) return FallbackReason::no_lane;
  Lane* lane = lane_for(decision);
  if (lane == nullptr) return FallbackReason::no_lane;
  FallbackReason obstacle = preparer_.provide(*lane, plan, 1 + call.unasked);
  if (decision.may_be_held) executor = Executor::stream;
  if (obstacle == FallbackReason::none) obstacle = find_room(*lane, decision, executor);
  if (obstacle != FallbackReason::none) return obstacle;
  const std::array buffers{call.source, call.destination};
  Transfer transfer{&plan->program, plan->structure, buffers,
                    call.stream,    call.stream_gpu, ids_.next()};
  return decision.measurement ? run_timed(*lane, transfer, executor, *decision.measurement)
                              : run_in(*lane, transfer, executor);
}

FallbackReason LaneRunner::run_timed(Lane& lane, Transfer& transfer, Executor executor,
                                     Measurement& measurement) {
  if (measurement.advice.path_by_path && executor == Executor::stream) {
    measurement.watch.time_paths(*transfer.program);
    transfer.stopwatch = &measurement.watch;
  }
  measurement.watch.start(transfer.stream, transfer.stream_gpu);
  const FallbackReason obstacle = run_in(lane, transfer, executor);
  measurement.watch.stop(transfer.stream);
  return obstacle;
}

// A graph is one entry in a stream, however many copies it has. A copy that may be held is never
// one: the driver chooses the queues of the hardware for the copies of a graph.
FallbackReason LaneRunner::find_room(Lane& lane, const Decision& decision,
                                     Executor& executor) const {
  const Program& program = decision.plan->program;
  const bool fits = executor == Executor::graph || lane.fits(program);
  if (decision.may_be_held)
    return fits && lane.may_be_held(program) ? FallbackReason::none : FallbackReason::queue_full;
  if (fits) return FallbackReason::none;
  if (plans_.choice_of(decision.call.options)) return FallbackReason::queue_full;
  executor = Executor::graph;
  return FallbackReason::none;
}

FallbackReason LaneRunner::run_in(Lane& lane, const Transfer& transfer, Executor executor) {
  bool queued = false;
  try {
    lane.prepare(transfer, executor);
    queued = true;
    lane.run(transfer, executor);
    return FallbackReason::none;
  } catch (const Error& error) {
    // Queued work must not overtake a native copy, nor may it overtake work that follows the copy
    // in the stream.
    if (queued && !lane.settle(transfer)) throw UnsettledError(error.code(), error.what());
    log(LogLevel::warning, fmt::format("one native copy instead of {} copies: {}",
                                       transfer.program->nodes().size(), error.what()));
    return FallbackReason::failed;
  }
}

}  // namespace polypath::engine
