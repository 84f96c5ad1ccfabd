#include "bench/timeline.h"

#include <utility>

#include "bench/operation_run.h"

namespace polypath::bench {

SimulatedTransfer simulate_transfer(const PlanRequest& request, const Plan& plan) {
  const sim::Options traced{.move_bytes = false, .check_races = false, .record_trace = true};
  OperationRun operation_run(simulate(request.machine, request.settings, traced),
                             {"put", {request.lane}, false}, request.bytes);
  PlanOptions chosen = request.options;
  chosen.executor = plan.executor();
  operation_run.run(chosen, 1);
  const Seconds start = operation_run.platform().driver().now();
  operation_run.run(chosen, 1);
  auto spans = operation_run.platform().trace();
  std::erase_if(spans, [&](const sim::Span& span) { return span.started < start; });
  return {start, std::move(spans)};
}

}  // namespace polypath::bench
