#include "collective/division/rank_access.h"

#include <algorithm>
#include <functional>

#include "core/error.h"

namespace polypath::collective {

RankAccess::RankAccess(const Machine& machine, const Program& program,
                       const std::vector<PlaceId>& ranks)
    : machine_(machine),
      program_(program),
      ranks_(ranks),
      touched_(program.nodes().size(), std::vector<bool>(ranks.size())),
      awaited_(touched_) {
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    const Node& node = program.nodes()[i];
    const int rank = rank_of(node);
    rank_of_.push_back(rank);
    note_touched(node, rank, touched_[i]);
    for (const int earlier : program.after(node))
      if (rank_of(earlier) != rank) awaited_[index_of(earlier)][index_of(rank)] = true;
  }
}

int RankAccess::rank_at(PlaceId place) const {
  const auto found = std::find(ranks_.begin(), ranks_.end(), place);
  return found == ranks_.end() ? -1 : static_cast<int>(found - ranks_.begin());
}

int RankAccess::owner_of(const ProgramBuffer& buffer) const {
  const int rank = rank_at(buffer.place);
  if (rank >= 0 || !buffer.is_scratch()) return rank;
  return rank_at(machine_.executing_gpu(buffer.filled_over));
}

int RankAccess::rank_of(const Node& node) const {
  const PlaceId gpu = program_.queues()[index_of(node.queue)].gpu;
  for (const int rank : {rank_at(gpu), rank_at(program_.buffer(node.destination).place),
                         rank_at(program_.buffer(node.source).place)})
    if (rank >= 0) return rank;
  fail(ErrorCode::internal, "a node of a program is of no rank",
       "neither its queue nor its memory belongs to one");
}

void RankAccess::note_touched(const Node& node, int rank, std::vector<bool>& touched) const {
  const auto note = [&](const Slice& slice) {
    if (program_.buffer(slice).is_mailbox) return;  // kernels order that among themselves
    const int owner = owner_of(program_.buffer(slice));
    if (owner >= 0 && owner != rank) touched[index_of(owner)] = true;
  };
  if (node.operation != Operation::kernel) return note(node.source), note(node.destination);
  for (const Access& access : program_.call_of(node).memory) note(access.slice);
}

std::vector<int> RankAccess::last_touching(int rank) const {
  std::vector<int> last(program_.queues().size(), -1);
  for (std::size_t i = 0; i < touched_.size(); ++i)
    if (touched_[i][index_of(rank)])
      last[index_of(program_.nodes()[i].queue)] = static_cast<int>(i);
  std::erase(last, -1);
  std::sort(last.begin(), last.end(), std::greater<>());
  return last;
}

}  // namespace polypath::collective
