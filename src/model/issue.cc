#include "model/issue.h"

#include <algorithm>

namespace polypath {
namespace {

std::size_t most_chunks(const TransferShape& transfer) {
  std::size_t most = 0;
  for (const PathShape& shape : transfer.paths) most = std::max(most, shape.chunks.size());
  return most;
}

// Calls on_first(path, chunk) and on_second(path, chunk) in the order of issue: chunk by chunk, the
// first copies of all paths and then their second ones. plan/nodes.cc lays the copies out alike.
template <class OnFirst, class OnSecond>
void in_issue_order(const TransferShape& transfer, OnFirst on_first, OnSecond on_second) {
  const std::size_t rounds = most_chunks(transfer);
  for (std::size_t chunk = 0; chunk < rounds; ++chunk) {
    for (std::size_t p = 0; p < transfer.paths.size(); ++p)
      if (chunk < transfer.paths[p].chunks.size()) on_first(p, chunk);
    for (std::size_t p = 0; p < transfer.paths.size(); ++p)
      if (chunk < transfer.paths[p].chunks.size() && transfer.paths[p].path.staged())
        on_second(p, chunk);
  }
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
  const auto ring = static_cast<std::size_t>(slots);
  const auto first = [&](std::size_t p, std::size_t chunk) {
    const bool is_staged = transfer.paths[p].path.staged();
    if (is_staged && (chunk == 0 || chunk >= ring)) clock.wait();
    issue.paths[p].first.push_back(clock.copy());
    if (is_staged) clock.record();
  };
  const auto second = [&](std::size_t p, std::size_t chunk) {
    clock.wait();
    issue.paths[p].second.push_back(clock.copy());
    if (chunk + ring < transfer.paths[p].chunks.size()) clock.record();
  };
  in_issue_order(transfer, first, second);
  for (std::ptrdiff_t i = 0; i < staged; ++i) clock.record(), clock.wait(), clock.wait();
  issue.done = clock.now();
  return issue;
}

TransferIssue issue_graph(const Machine& machine, const TransferShape& transfer, Seconds start) {
  TransferIssue issue{std::vector<PathIssue>(transfer.paths.size()), {}};
  const CallCosts& costs = machine.costs;
  const auto staged = static_cast<double>(
      std::count_if(transfer.paths.begin(), transfer.paths.end(),
                    [](const PathShape& shape) { return shape.path.staged(); }));
  Seconds now = start + costs.event_wait * staged + costs.graph_launch;
  const auto first = [&](std::size_t p, std::size_t) {
    issue.paths[p].first.push_back(now += costs.graph_launch_node);
  };
  const auto second = [&](std::size_t p, std::size_t) {
    issue.paths[p].second.push_back(now += costs.graph_launch_node);
  };
  in_issue_order(transfer, first, second);
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
