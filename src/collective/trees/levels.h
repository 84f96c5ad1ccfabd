#pragma once
// The vertices of several trees, by their depth: what moves along them level by level.

#include <array>
#include <cstddef>
#include <vector>

#include "collective/trees/index_of.h"
#include "collective/trees/tree.h"

namespace polypath::collective {

class TreeLevels {
 public:
  explicit TreeLevels(int ranks) : ranks_(ranks), levels_{Levels(1), Levels(1)} {}

  /// Trees have numbers in this order. Inwards: what moves along it goes to the root.
  void add(const Tree& tree, bool inwards);

  /// A vertex, and how many ranks ahead the one is that its message goes to.
  struct Place {
    int ahead;
    std::size_t tree;
    int vertex;
  };
  /// Those at a depth of all trees that go one way, the least far ahead first.
  [[nodiscard]] const std::vector<Place>& at(int depth, bool inwards) const {
    return levels_[inwards ? 1 : 0][index_of(depth)];
  }
  /// Of the deepest tree that goes that way; 0 if there is none.
  [[nodiscard]] int depth(bool inwards) const {
    return static_cast<int>(levels_[inwards ? 1 : 0].size()) - 1;
  }
  [[nodiscard]] bool is_leaf(std::size_t tree, int vertex) const {
    return leaves_[tree][index_of(vertex)];
  }

 private:
  using Levels = std::vector<std::vector<Place>>;

  int ranks_;
  std::array<Levels, 2> levels_;           ///< outwards, inwards; by depth
  std::vector<std::vector<bool>> leaves_;  ///< by tree and vertex
};

}  // namespace polypath::collective
