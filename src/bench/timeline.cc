#include "bench/timeline.h"

#include <algorithm>

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

Timeline simulate_transfer(const Machine& machine, const Lane& lane, Bytes bytes,
                           const PlanPointer& plan, const Settings& settings,
                           const PlanOptions& options) {
  Session session(machine, {"put", {lane}, false}, bytes, settings, {false, false, true});
  PlanOptions chosen = options;
  chosen.executor = choice_of(plan->executor());
  session.run(chosen, 1);
  const Seconds start = session.bed().driver().now();
  session.run(chosen, 1);
  auto spans = session.bed().trace();
  std::erase_if(spans, [&](const sim::Span& span) { return span.started < start; });
  return {plan, start, std::move(spans)};
}

std::string path_name(const Machine& machine, const Plan& plan, int path) {
  const auto& paths = plan.shape.paths;
  if (path < 0 || static_cast<std::size_t>(path) >= paths.size()) return "direct";
  return name_of(machine, paths[static_cast<std::size_t>(path)].path);
}

}  // namespace polypath::bench
