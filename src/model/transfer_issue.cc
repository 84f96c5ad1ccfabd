#include "model/transfer_issue.h"

namespace polypath::model {
namespace {

// Chunk counts repeat; their issue times are kept, up to a bound.
constexpr std::size_t kMostKnown = 1024;

}  // namespace

TransferIssue TransferIssues::find_out(const TransferShape& transfer, int slots) const {
  const Program program = program_of(machine_, transfer, slots);
  const IssueTimes times = issue_times(machine_, program, transfer.executor);
  TransferIssue issue{std::vector<PathIssue>(transfer.paths.size()), times.done};
  for (std::size_t i = 0; i < times.nodes.size(); ++i) {
    const Node& node = program.nodes()[i];
    PathIssue& path = issue.paths[static_cast<std::size_t>(node.path)];
    (node.source.buffer == kSourceBuffer ? path.first : path.second).push_back(times.nodes[i]);
  }
  return issue;
}

const TransferIssue& TransferIssues::of(const TransferShape& transfer, int slots) {
  key_.assign({static_cast<int>(transfer.executor), slots});
  for (const PathShape& part : transfer.paths) {
    const int chunks = static_cast<int>(part.chunks.size());
    key_.push_back(part.path.staged() ? chunks : -chunks);
  }
  const auto known = known_.find(key_);
  if (known != known_.end()) return known->second;
  if (known_.size() >= kMostKnown) known_.clear();
  return known_[key_] = find_out(transfer, slots);
}

}  // namespace polypath::model
