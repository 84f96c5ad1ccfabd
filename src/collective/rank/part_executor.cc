#include "collective/rank/part_executor.h"

#include "collective/choose/predicted_time.h"
#include "collective/program/tuning.h"

namespace polypath::collective {

PartExecutor::PartExecutor(Driver& driver, const Machine& machine, const Settings& settings)
    : driver_(driver),
      hops_(driver, machine, with_collective_slots(settings, machine)),
      kernels_(driver, machine),
      streams_(driver, hops_),
      graphs_(driver, hops_, settings, statistics_),
      in_callers_(driver) {}

Executor PartExecutor::executor_of(const Transfer& transfer, Executor wanted) {
  if (wanted == Executor::graph) return wanted;
  const bool as_graph = is_one_kernel(*transfer.program) && graphs_.fits(transfer);
  return as_graph ? Executor::graph : Executor::stream;
}

void PartExecutor::prepare(const Transfer& transfer, Executor by) {
  if (by == Executor::graph) graphs_.prepare(transfer);
  else streams_.prepare(transfer);
}

void PartExecutor::run(const Transfer& transfer, Executor by) {
  if (by == Executor::graph) graphs_.run(transfer);
  else streams_.run(transfer);
}

std::vector<EventHandle> PartExecutor::mark_ends(const Transfer& transfer) {
  std::vector<EventHandle> ends{in_callers_.on(transfer.stream_gpu)};
  driver_.record(ends.back(), transfer.stream);
  for (std::size_t queue = 1; queue < transfer.program->queues().size(); ++queue) {
    QueueStream& used = hops_.stream(transfer.program->queues()[queue]);
    ends.push_back(used.end.on(used.gpu));
    driver_.record(ends.back(), used.stream);
  }
  return ends;
}

}  // namespace polypath::collective
