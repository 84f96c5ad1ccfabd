#include "standin/chaos/graph_run.h"

#include <algorithm>

namespace polypath::standin::chaos {

bool GraphRun::can_go_on(const Node& node) const {
  return node.job && std::all_of(node.after.begin(), node.after.end(), [&](int earlier) {
           return !nodes_[static_cast<std::size_t>(earlier)].job;
         });
}

GraphRun::Node& GraphRun::pick(Chance& chance) {
  constexpr std::uint64_t kMostPicksPerDraw = 64;
  if (picks_left_-- == 0) {
    picks_left_ = chance.below(kMostPicksPerDraw);
    for (Node& node : nodes_) node.priority = chance.below(UINT64_MAX);
  }
  Node* picked = nullptr;
  for (Node& node : nodes_)
    if (can_go_on(node) && (picked == nullptr || node.priority > picked->priority)) picked = &node;
  return *picked;
}

JobState GraphRun::step(Chance& chance) {
  Node& chosen = pick(chance);
  const JobState state = chosen.job->step(chance);
  if (state == JobState::not_yet) return state;
  if (state == JobState::done) chosen.job.reset();
  const bool done = std::none_of(nodes_.begin(), nodes_.end(),
                                 [](const Node& node) { return node.job != nullptr; });
  return done ? JobState::done : JobState::more;
}

}  // namespace polypath::standin::chaos
