// Carries out decisions; records and counts them.

#include <fmt/format.h>

#include <array>

#include "core/error.h"
#include "core/log.h"
#include "core/text.h"
#include "engine/engine.h"
#include "engine/learn/measurement.h"

namespace polypath {
namespace {

std::string describe(const Machine& machine, const Plan& plan, Executor executor) {
  std::string text =
      fmt::format("{} from {} to {} as {}, predicted {}:", describe_bytes(plan.bytes),
                  machine.place(plan.source).name, machine.place(plan.destination).name,
                  name_of(executor), describe_seconds(plan.predicted));
  for (const PathDecision& decision : plan.decisions)
    if (decision.included)
      text +=
          fmt::format(" {} {:.1f} % in {}", decision.name, 100 * decision.share, decision.chunks);
  return text;
}

bool is_timed_natively(const Decision& decision) {
  return decision.measurement && decision.means == Method::native;
}

}  // namespace

CopyResult Engine::enqueue(const Decision& decision) {
  check_process();
  if (decision.may_block) return enqueue_unpinned(decision, NativeCopyBy::engine);
  const std::scoped_lock lock(mutex_);
  return enqueue_locked(decision, NativeCopyBy::engine);
}

CopyResult Engine::enqueue_or_leave(const Decision& decision) {
  check_process();
  if (decision.may_block) return enqueue_unpinned(decision, NativeCopyBy::caller);
  const std::scoped_lock lock(mutex_);
  return enqueue_locked(decision, NativeCopyBy::caller);
}

CopyResult Engine::enqueue_locked(const Decision& decision, NativeCopyBy maker) {
  if (decision.means == Method::nothing) return {.means = Method::nothing};
  try {
    CopyResult result = attempt(decision);
    if (result.obstacle == FallbackReason::preparing)
      if (const std::optional<Decision> ready = over_ready_relays(decision))
        return enqueue_locked(*ready, maker);
    if (result.means == Method::native) native_copy(decision, maker);
    note(decision, result);
    result.made_here = result.means == Method::native && is_timed_natively(decision);
    return result;
  } catch (const Error&) {
    note_failure(decision);
    throw;
  }
}

// With pageable or managed memory at an end the driver may block, so that no lock is held.
CopyResult Engine::enqueue_unpinned(const Decision& decision, NativeCopyBy maker) {
  try {
    CopyResult result =
        decision.compared ? native_for_comparison(decision) : attempt_windows(decision);
    if (result.means == Method::native && !result.made_here) native_copy(decision, maker);
    const std::scoped_lock lock(mutex_);
    note(decision, result);
    return result;
  } catch (const Error&) {
    const std::scoped_lock lock(mutex_);
    note_failure(decision);
    throw;
  }
}

void Engine::native_copy(const Decision& decision, NativeCopyBy maker) {
  const CopyCall& call = decision.call;
  const bool timed = is_timed_natively(decision);
  if (maker == NativeCopyBy::caller && !timed) return;
  if (timed) decision.measurement->watch.start(call.stream, call.stream_gpu);
  driver_.copy_native({.destination = call.destination,
                       .source = call.source,
                       .bytes = call.bytes,
                       .label = {next_transfer_++, 0, 0},
                       .destination_place = decision.ends.destination,
                       .source_place = decision.ends.source},
                      call.stream);
  if (timed) decision.measurement->watch.stop(call.stream);
}

namespace {

Seconds missed_by(const Decision& decision) {
  if (!decision.plan) return {};
  const Seconds gain = decision.plan->native_predicted - decision.plan->predicted;
  return std::max(gain, Seconds{}) * (1.0 + decision.call.unasked);
}

}  // namespace

// By plan; native, if that is the plan or something is in the way: then nothing is queued.
CopyResult Engine::attempt(const Decision& decision) {
  const PlanPointer& plan = decision.plan;
  const bool by_paths = decision.means == Method::paths;
  Executor executor = by_paths ? executor_for(decision) : Executor::native;
  if (plan && !decision.recalled && logs(LogLevel::debug))
    log(LogLevel::debug, describe(machine_, *plan, executor));
  if (!by_paths && decision.obstacle == FallbackReason::none) return {.plan = plan};
  const FallbackReason obstacle = by_paths ? run(decision, executor) : decision.obstacle;
  if (obstacle != FallbackReason::none)
    return {.plan = by_paths ? nullptr : plan, .obstacle = obstacle, .missed = missed_by(decision)};
  return {.executor = executor, .plan = plan, .means = Method::paths};
}

// The same copy over those relays that are ready while others are being prepared: contexts come one
// after another, 0.13 s apart, even if each is made by a thread of its own
// (results/h200x4/own_contexts.json). None if no such relay gains, and for a copy that shares the
// machine with others, for whom it was planned.
std::optional<Decision> Engine::over_ready_relays(const Decision& decision) {
  const CopyCall& call = decision.call;
  const bool by_itself = !decision.joint && !decision.of_set && !call.options.asks_for_paths();
  if (!by_itself || decision.of_ready || decision.means != Method::paths) return std::nullopt;
  if (!decision.contention.load.empty() || decision.contention.both_ways != BothWays::no)
    return std::nullopt;
  const Lane* lane = lanes_.lend(call.stream);
  if (lane == nullptr) return std::nullopt;
  const PlaceSet relays = ready_relays(*decision.plan, *lane);
  if (relays.empty()) return std::nullopt;
  PlanRequest request{decision.ends.source, decision.ends.destination, call.bytes,
                      complete(call.options)};
  request.options.left_out = left_out_for(call, decision.ends);
  Decision ready = decision;
  ready.plan = plan_for(limited_to(relays, request));
  if (!ready.plan || ready.plan->executor() == Executor::native || yields_to_other_processes(ready))
    return std::nullopt;
  ready.measurement = nullptr;
  ready.of_ready = true;
  return ready;
}

// Paths are timed one by one as streams.
Executor Engine::executor_for(const Decision& decision) const {
  const bool chosen = choice_of(decision.call.options).has_value();
  const bool timed = decision.measurement && decision.measurement->advice.path_by_path;
  return timed && !chosen ? Executor::stream : decision.plan->executor();
}

// None: the transfer is enqueued, by `executor`. Else nothing of it is queued.
FallbackReason Engine::run(const Decision& decision, Executor& executor) {
  const CopyCall& call = decision.call;
  const PlanPointer& plan = decision.plan;
  if (lanes_.any_held_beside(call.stream)) return FallbackReason::no_lane;
  Lane* lane = decision.joint    ? lanes_.lend_apart(call.stream)
               : decision.of_set ? lanes_.lend_idle(call.stream)
                                 : lanes_.lend(call.stream);
  if (lane == nullptr) return FallbackReason::no_lane;
  FallbackReason obstacle = provide(*lane, plan, 1 + call.unasked);
  if (decision.may_be_held) executor = Executor::stream;
  if (obstacle == FallbackReason::none) obstacle = find_room(*lane, decision, executor);
  if (obstacle != FallbackReason::none) return obstacle;
  const std::array buffers{call.source, call.destination};
  Transfer transfer{&plan->program, plan->structure, buffers,
                    call.stream,    call.stream_gpu, next_transfer_++};
  Measurement* const measurement = decision.measurement.get();
  if (measurement == nullptr) return run_in(*lane, transfer, executor);
  if (measurement->advice.path_by_path && executor == Executor::stream) {
    measurement->watch.time_paths(plan->program);
    transfer.stopwatch = &measurement->watch;
  }
  measurement->watch.start(call.stream, call.stream_gpu);
  obstacle = run_in(*lane, transfer, executor);
  measurement->watch.stop(call.stream);
  return obstacle;
}

// A graph is one entry in a stream, however many copies it has. A copy that may be held is never
// one: the driver chooses the queues of the hardware for the copies of a graph.
FallbackReason Engine::find_room(Lane& lane, const Decision& decision, Executor& executor) const {
  const Program& program = decision.plan->program;
  const bool fits = executor == Executor::graph || lane.fits(program);
  if (decision.may_be_held)
    return fits && lane.may_be_held(program) ? FallbackReason::none : FallbackReason::queue_full;
  if (fits) return FallbackReason::none;
  if (choice_of(decision.call.options)) return FallbackReason::queue_full;
  executor = Executor::graph;
  return FallbackReason::none;
}

FallbackReason Engine::run_in(Lane& lane, const Transfer& transfer, Executor executor) {
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

void Engine::note(const Decision& decision, const CopyResult& result) {
  count_asked(decision.call);
  count_done(result);
  note_load(decision);
  if (decision.measurement && result.obstacle == FallbackReason::none)
    measurements_.push_back(decision.measurement);
  const bool by_decision =
      result.means == Method::native && result.obstacle == FallbackReason::none;
  const bool knows_why = decision.plan || decision.call.bytes < decision.native_threshold;
  const bool lasts =
      !decision.recalled && !decision.joint && !decision.learnt && !decision.until_graph;
  if (by_decision && knows_why && lasts) recent_.remember(decision);
}

// Others are to know of it.
void Engine::note_load(const Decision& decision) {
  if (decision.plan && decision.time) {
    disturb_measurements(decision);
    load_->add(decision.call.stream, decision.plan, *decision.time, decision.contention);
  }
}

// Throws the error of the call, if it is the caller's fault: a recalled decision has not looked at
// the call's memory.
void Engine::note_failure(const Decision& decision) {
  if (decision.recalled) {
    recent_.forget(decision.call);
    (void)resolve_memory(decision.call);
  }
  count_asked(decision.call);
  ++statistics_.errors;
}

void Engine::count_asked(const CopyCall& call) {
  ++statistics_.transfers;
  statistics_.bytes += call.bytes;
}

void Engine::count_done(const CopyResult& result) {
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

void Engine::count_staged(const Plan& plan) {
  for (const PathShape& part : plan.shape.paths)
    if (part.path.staged())
      for (const Bytes chunk : part.chunks) statistics_.staged_bytes += chunk;
}

}  // namespace polypath
