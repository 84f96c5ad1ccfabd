#include "standin/chaos/graph_run.h"

#include <algorithm>

namespace polypath::standin::chaos {

bool GraphRun::can_go_on(const Node& node) const {
  return node.copy && std::all_of(node.after.begin(), node.after.end(), [&](int earlier) {
           return !nodes_[static_cast<std::size_t>(earlier)].copy;
         });
}

Progress GraphRun::step(Chance& chance) {
  std::vector<Node*> ready;
  for (Node& node : nodes_)
    if (can_go_on(node)) ready.push_back(&node);
  Node& chosen = *ready[chance.below(ready.size())];
  if (chosen.copy->step(chance) == Progress::done) chosen.copy.reset();
  const bool done = std::none_of(nodes_.begin(), nodes_.end(),
                                 [](const Node& node) { return node.copy != nullptr; });
  return done ? Progress::done : Progress::more;
}

}  // namespace polypath::standin::chaos
