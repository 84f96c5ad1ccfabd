#pragma once
// The cheapest tree of directed edges that leads from one vertex to all others (Chu and Liu 1965,
// Edmonds 1967).

#include <limits>
#include <vector>

#include "collective/trees/index_of.h"

namespace polypath::collective {

/// costs[from][to]; infinite where there is no edge.
using CostMatrix = std::vector<std::vector<double>>;
inline constexpr double kNoEdge = std::numeric_limits<double>::infinity();

/// Of each vertex the one before it, of the root -1; empty if not all can be reached.
std::vector<int> cheapest_arborescence(const CostMatrix& costs, int root);

/// Shortest paths among all vertices (Floyd 1962).
class ShortestPaths {
 public:
  explicit ShortestPaths(const CostMatrix& costs);

  [[nodiscard]] double cost(int from, int to) const { return costs_[index_of(from)][index_of(to)]; }
  /// The vertices on the way, both ends among them; empty if there is no way.
  [[nodiscard]] std::vector<int> path(int from, int to) const;

 private:
  CostMatrix costs_;
  std::vector<std::vector<int>> next_;  ///< the vertex after `from` on the way to `to`
};

}  // namespace polypath::collective
