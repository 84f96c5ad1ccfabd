#include "engine/enqueue/enqueuer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/log.h"
#include "core/text.h"
#include "engine/enqueue/failed_copy.h"
#include "engine/learn/measurement.h"

namespace polypath::engine {
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

Seconds missed_by(const Decision& decision) {
  if (!decision.plan) return {};
  const Seconds gain = decision.plan->native_predicted - decision.plan->predicted;
  return std::max(gain, Seconds{}) * (1.0 + decision.call.unasked);
}

}  // namespace

Enqueuer::Enqueuer(Driver& driver, const Machine& machine, TransferIds& ids, PathDecider& paths,
                   LaneRunner& runner, CopyRecords& records)
    : driver_(driver),
      machine_(machine),
      ids_(ids),
      paths_(paths),
      runner_(runner),
      records_(records) {}

CopyResult Enqueuer::enqueue(const Decision& decision, NativeCopyBy maker) {
  if (decision.means == Method::nothing) return {.means = Method::nothing};
  try {
    CopyResult result = attempt(decision);
    if (result.obstacle == FallbackReason::preparing)
      if (const std::optional<Decision> ready = paths_.over_ready_relays(decision))
        return enqueue(*ready, maker);
    if (result.means == Method::native) copy_natively(decision, maker);
    records_.note(decision, result);
    result.made_here = result.means == Method::native && is_timed_natively(decision);
    return result;
  } catch (const Error& error) {
    fail_to_copy(machine_, decision.call.bytes, records_.note_failure(decision), error);
  }
}

void Enqueuer::copy_natively(const Decision& decision, NativeCopyBy maker) {
  const CopyCall& call = decision.call;
  const bool timed = is_timed_natively(decision);
  if (maker == NativeCopyBy::caller && !timed) return;
  if (timed) decision.measurement->watch.start(call.stream, call.stream_gpu);
  driver_.copy_native({.destination = call.destination,
                       .source = call.source,
                       .bytes = call.bytes,
                       .label = {ids_.next(), 0, 0},
                       .destination_place = decision.ends.destination,
                       .source_place = decision.ends.source},
                      call.stream);
  if (timed) decision.measurement->watch.stop(call.stream);
}

CopyResult Enqueuer::attempt(const Decision& decision) {
  const PlanPointer& plan = decision.plan;
  const bool by_paths = decision.means == Method::paths;
  Executor executor = by_paths ? runner_.executor_for(decision) : Executor::native;
  if (plan && !decision.recalled && logs(LogLevel::debug))
    log(LogLevel::debug, describe(machine_, *plan, executor));
  if (!by_paths && decision.obstacle == FallbackReason::none) return {.plan = plan};
  const FallbackReason obstacle = by_paths ? runner_.run(decision, executor) : decision.obstacle;
  if (obstacle != FallbackReason::none)
    return {.plan = by_paths ? nullptr : plan, .obstacle = obstacle, .missed = missed_by(decision)};
  return {.executor = executor, .plan = plan, .means = Method::paths};
}

}  // namespace polypath::engine
