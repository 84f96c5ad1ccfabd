#include "collective/program/program_queues.h"

#include <algorithm>

namespace polypath::collective {

int ProgramQueues::number(const Queue& queue) {
  int& known = queue.hop.valid() ? of_hops_[queue.hop.index()] : of_places_[queue.gpu.index()];
  if (known < 0) known = program_.add(queue);
  return known;
}

Queue ProgramQueues::over(HopId hop) {
  const Queue own = queue_of(machine_, hop);
  if (!tuning_.in_turn || machine_.hop(hop).kind != HopKind::peer) return own;
  return in_turn_.try_emplace(own.gpu, own).first->second;
}

void ProgramQueues::take_turn(const Node& node, std::vector<int>& after) {
  if (!tuning_.in_turn || !node.hop.valid() || machine_.hop(node.hop).kind != HopKind::peer) return;
  const Hop& hop = machine_.hop(node.hop);
  Turn& turn = turns_[hop.destination];
  const bool is_next = turn.last >= 0 && turn.from != hop.source;
  if (is_next && std::ranges::find(after, turn.last) == after.end()) after.push_back(turn.last);
  turn = {hop.source, static_cast<int>(program_.nodes().size())};
}

}  // namespace polypath::collective
