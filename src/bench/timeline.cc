#include "bench/timeline.h"

#include <utility>

#include "bench/session.h"

namespace polypath::bench {
namespace {

ExecutorChoice choice_of(Executor executor) {
  switch (executor) {
    case Executor::stream: return ExecutorChoice::stream;
    case Executor::graph: return ExecutorChoice::graph;
    case Executor::native: break;
  }
  return ExecutorChoice::native;
}

}  // namespace

SimulatedTransfer simulate_transfer(const PlanRequest& request, const Plan& plan) {
  const sim::Options traced{.move_bytes = false, .check_races = false, .record_trace = true};
  Session session(simulate(request.machine, request.settings, traced),
                  {"put", {request.lane}, false}, request.bytes);
  PlanOptions chosen = request.options;
  chosen.executor = choice_of(plan.executor());
  session.run(chosen, 1);
  const Seconds start = session.bed().driver().now();
  session.run(chosen, 1);
  auto spans = session.bed().trace();
  std::erase_if(spans, [&](const sim::Span& span) { return span.started < start; });
  return {start, std::move(spans)};
}

}  // namespace polypath::bench
