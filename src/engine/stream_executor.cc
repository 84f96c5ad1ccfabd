#include "engine/stream_executor.h"

#include <algorithm>

namespace polypath {

void StreamExecutor::prepare(const Transfer& transfer) {
  (void)forked_.on(transfer.stream_gpu);
  for (const PathShape& part : transfer.plan->shape.paths) {
    if (!part.path.staged()) continue;
    HopStream& first = hops_.stream(part.path.first);
    HopStream& second = hops_.stream(part.path.second);
    (void)first.arrived.on(first.gpu);
    StagingRing& ring = hops_.ring(part.path.first);
    (void)ring.last_use.on(second.gpu);
    if (part.chunks.size() > ring.drained.size())
      for (auto& drained : ring.drained) (void)drained->on(second.gpu);
  }
}

void StreamExecutor::run(const Transfer& transfer) {
  const auto& paths = transfer.plan->shape.paths;
  if (std::any_of(paths.begin(), paths.end(), [](const auto& part) { return part.path.staged(); }))
    driver_.record(forked_.on(transfer.stream_gpu), transfer.stream);
  for (std::size_t i = 0; i < transfer.plan->nodes.size(); ++i) issue(transfer, i);
  join(transfer);
}

void StreamExecutor::issue(const Transfer& transfer, std::size_t index) {
  const CopyNode& node = transfer.plan->nodes[index];
  if (node.slot < 0) driver_.copy(bind(machine_, transfer, node, {}), transfer.stream);
  else if (node.to == End::slot) issue_first(transfer, node);
  else issue_second(transfer, node);
}

void StreamExecutor::issue_first(const Transfer& transfer, const CopyNode& node) {
  const Path& path = transfer.plan->shape.paths[static_cast<std::size_t>(node.path)].path;
  HopStream& first = hops_.stream(path.first);
  StagingRing& ring = hops_.ring(path.first);
  if (node.chunk == 0) driver_.wait(first.stream, forked_.on(transfer.stream_gpu));
  if (!node.after.empty()) {
    EventSet& drained = *ring.drained[static_cast<std::size_t>(node.slot)];
    driver_.wait(first.stream, drained.on(hops_.stream(path.second).gpu));
  }
  driver_.copy(bind(machine_, transfer, node, ring.base), first.stream);
  driver_.record(first.arrived.on(first.gpu), first.stream);
}

void StreamExecutor::issue_second(const Transfer& transfer, const CopyNode& node) {
  const Path& path = transfer.plan->shape.paths[static_cast<std::size_t>(node.path)].path;
  HopStream& first = hops_.stream(path.first);
  HopStream& second = hops_.stream(path.second);
  StagingRing& ring = hops_.ring(path.first);
  // The wait takes the event as it is now, so the next chunk may record it again.
  driver_.wait(second.stream, first.arrived.on(first.gpu));
  driver_.copy(bind(machine_, transfer, node, ring.base), second.stream);
  if (!node.awaited) return;
  EventSet& drained = *ring.drained[static_cast<std::size_t>(node.slot)];
  driver_.record(drained.on(second.gpu), second.stream);
}

// The caller's stream goes on after every path; the rings are free after their last use.
void StreamExecutor::join(const Transfer& transfer) {
  for (const PathShape& part : transfer.plan->shape.paths) {
    if (!part.path.staged()) continue;
    HopStream& second = hops_.stream(part.path.second);
    StagingRing& ring = hops_.ring(part.path.first);
    const EventHandle last = ring.last_use.on(second.gpu);
    driver_.record(last, second.stream);
    driver_.wait(transfer.stream, last);
    driver_.wait(hops_.stream(part.path.first).stream, last);
    ring.last = last;
  }
}

}  // namespace polypath
