#include "collective/choose/predicted_time.h"

#include <algorithm>

#include "model/issue.h"
#include "model/timeline.h"

namespace polypath::collective {
namespace {

Executor executor_of_part(const Program& program, Executor chosen) {
  return is_one_kernel(program) ? Executor::graph : chosen;
}

// Streams wait for each other's ends, but for what is in the caller's own; a graph is over with the
// last of its nodes, where its GPU does it.
Seconds end_of(const Machine& machine, const Program& program,
               const std::vector<ActivityPointer>& played, PlaceId gpu, Executor executor) {
  Seconds end;
  for (std::size_t i = 0; i < played.size(); ++i) {
    const Node& node = program.nodes()[i];
    const bool by_graph = executor == Executor::graph && working_gpu(machine, program, node) == gpu;
    const bool joined = by_graph || node.queue == Program::kCallersQueue;
    const Seconds latency = joined ? Seconds{} : wait_latency(machine, program, node, gpu);
    end = std::max(end, played[i]->finished + latency);
  }
  return end;
}

}  // namespace

bool is_one_kernel(const Program& program) {
  return program.nodes().size() == 1 && program.nodes().front().operation == Operation::kernel;
}

Seconds predicted_time(const Machine& machine, const HopRates& rates, const Program& program,
                       Executor executor, PlaceId gpu) {
  const IssueTimes issue = issue_times(machine, program, executor);
  Timeline timeline(machine, rates);
  const auto played = timeline.add(program, issue, {});
  timeline.play();
  Seconds end = issue.done;
  for (std::size_t i = 0; i < played.size(); ++i) {
    const Node& node = program.nodes()[i];
    if (node.awaited || program.last_of(node.queue) != static_cast<int>(i)) continue;
    // A graph is over with the last of its nodes, where its GPU does it.
    const bool joined = executor == Executor::graph && working_gpu(machine, program, node) == gpu;
    const Seconds latency = joined ? Seconds{} : wait_latency(machine, program, node, gpu);
    end = std::max(end, played[i]->finished + latency);
  }
  return end + machine.costs.synchronize;
}

Seconds predicted_time(const Machine& machine, const HopRates& rates,
                       const std::vector<RankPart>& parts, const std::vector<PlaceId>& ranks,
                       Executor executor) {
  Timeline timeline(machine, rates);
  std::vector<std::vector<ActivityPointer>> played;
  Seconds end;
  for (const RankPart& part : parts) {
    const IssueTimes issue =
        issue_times(machine, part.program, executor_of_part(part.program, executor));
    played.push_back(timeline.add(part.program, issue, {}));
    end = std::max(end, issue.done);
  }
  timeline.play();
  for (std::size_t rank = 0; rank < parts.size(); ++rank)
    end = std::max(end, end_of(machine, parts[rank].program, played[rank], ranks[rank], executor));
  return end + machine.costs.synchronize;
}

}  // namespace polypath::collective
