#include "model/issue.h"

#include <algorithm>

namespace polypath {
namespace {

std::size_t most_chunks(const TransferShape& transfer) {
  std::size_t most = 0;
  for (const PathShape& shape : transfer.paths) most = std::max(most, shape.chunks.size());
  return most;
}

// Calls on_chunk(path index, chunk index) in the order of issue: chunk by chunk, all paths in turn.
template <class OnChunk>
void in_issue_order(const TransferShape& transfer, OnChunk on_chunk) {
  const std::size_t rounds = most_chunks(transfer);
  for (std::size_t chunk = 0; chunk < rounds; ++chunk)
    for (std::size_t p = 0; p < transfer.paths.size(); ++p)
      if (chunk < transfer.paths[p].chunks.size()) on_chunk(p, chunk);
}

// Stream calls that come with one chunk of a staged path, besides its two copies.
class StreamClock {
 public:
  StreamClock(const CallCosts& costs, Seconds start) : costs_(costs), now_(start) {}

  Seconds copy() { return now_ += costs_.copy; }
  void record() { now_ += costs_.event_record; }
  void wait() { now_ += costs_.event_wait; }
  [[nodiscard]] Seconds now() const { return now_; }

 private:
  const CallCosts& costs_;
  Seconds now_;
};

TransferIssue issue_streams(const Machine& machine, const TransferShape& transfer, int slots,
                            Seconds start) {
  TransferIssue issue{std::vector<PathIssue>(transfer.paths.size()), {}};
  StreamClock clock(machine.costs, start);
  const auto staged = std::count_if(transfer.paths.begin(), transfer.paths.end(),
                                    [](const PathShape& shape) { return shape.path.staged(); });
  if (staged > 0) clock.record();
  in_issue_order(transfer, [&](std::size_t p, std::size_t chunk) {
    const PathShape& shape = transfer.paths[p];
    if (!shape.path.staged()) return issue.paths[p].first.push_back(clock.copy());
    const auto ring = static_cast<std::size_t>(slots);
    if (chunk == 0 || chunk >= ring) clock.wait();
    issue.paths[p].first.push_back(clock.copy());
    clock.record();
    clock.wait();
    issue.paths[p].second.push_back(clock.copy());
    if (chunk + ring < shape.chunks.size()) clock.record();
  });
  for (std::ptrdiff_t i = 0; i < staged; ++i) clock.record(), clock.wait(), clock.wait();
  issue.done = clock.now();
  return issue;
}

TransferIssue issue_graph(const Machine& machine, const TransferShape& transfer, Seconds start) {
  TransferIssue issue{std::vector<PathIssue>(transfer.paths.size()), {}};
  const CallCosts& costs = machine.costs;
  const auto staged = static_cast<double>(std::count_if(
      transfer.paths.begin(), transfer.paths.end(),
      [](const PathShape& shape) { return shape.path.staged(); }));
  Seconds now = start + costs.event_wait * staged + costs.graph_launch;
  in_issue_order(transfer, [&](std::size_t p, std::size_t) {
    issue.paths[p].first.push_back(now += costs.graph_launch_node);
    if (transfer.paths[p].path.staged())
      issue.paths[p].second.push_back(now += costs.graph_launch_node);
  });
  issue.done = now + (costs.event_record + costs.event_wait) * staged;
  return issue;
}

}  // namespace

TransferIssue issue_times(const Machine& machine, const TransferShape& transfer, int slots,
                          Seconds start) {
  return transfer.executor == Executor::graph ? issue_graph(machine, transfer, start)
                                              : issue_streams(machine, transfer, slots, start);
}

}  // namespace polypath
