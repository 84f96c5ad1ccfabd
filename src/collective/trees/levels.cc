#include "collective/trees/levels.h"

#include <algorithm>

#include "collective/trees/index_of.h"

namespace polypath::collective {

void TreeLevels::add(const Tree& tree, bool inwards) {
  Levels& levels = levels_[inwards ? 1 : 0];
  levels.resize(std::max(levels.size(), index_of(tree.depth()) + 1));
  const std::size_t number = leaves_.size();
  std::vector<bool>& leaves = leaves_.emplace_back(tree.vertices().size(), true);
  for (int i = 0; i < static_cast<int>(tree.vertices().size()); ++i) {
    const Vertex& vertex = tree.vertex(i);
    const int parent = vertex.parent < 0 ? vertex.rank : tree.vertex(vertex.parent).rank;
    if (vertex.parent >= 0) leaves[index_of(vertex.parent)] = false;
    const int ahead = inwards ? parent - vertex.rank : vertex.rank - parent;
    auto& level = levels[index_of(vertex.depth)];
    const Place place{(ahead + ranks_) % ranks_, number, i};
    level.insert(std::ranges::upper_bound(level, place.ahead, {}, &Place::ahead), place);
  }
}

}  // namespace polypath::collective
