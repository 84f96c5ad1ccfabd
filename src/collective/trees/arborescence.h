#pragma once
// The cheapest tree of directed edges that leads from one vertex to all others (Chu and Liu 1965,
// Edmonds 1967).

#include <limits>
#include <vector>

#include "collective/trees/index_of.h"

namespace polypath::collective {

inline constexpr double kNoEdge = std::numeric_limits<double>::infinity();

/// costs[from][to]; infinite where there is no edge.
class CostMatrix {
 public:
  explicit CostMatrix(std::size_t vertices)
      : vertices_(vertices), costs_(vertices * vertices, kNoEdge) {}

  [[nodiscard]] std::size_t size() const { return vertices_; }
  [[nodiscard]] const double* operator[](std::size_t from) const {
    return &costs_[vertices_ * from];
  }
  [[nodiscard]] double* operator[](std::size_t from) { return &costs_[vertices_ * from]; }

 private:
  std::size_t vertices_;
  std::vector<double> costs_;
};

/// Of each vertex the one before it, of the root -1; empty if not all can be reached.
std::vector<int> cheapest_arborescence(const CostMatrix& costs, int root);

/// True if no path of several edges costs less than the edge between two vertices, by the cheapest
/// edges that leave the one and arrive at the other.
bool is_direct_best(const CostMatrix& costs, int from, int to);

/// Shortest paths among all vertices (Floyd 1962).
class ShortestPaths {
 public:
  explicit ShortestPaths(const CostMatrix& costs);

  [[nodiscard]] double cost(int from, int to) const { return costs_[index_of(from)][index_of(to)]; }
  /// The vertices on the way, both ends among them; empty if there is no way.
  [[nodiscard]] std::vector<int> path(int from, int to) const;

 private:
  [[nodiscard]] int next(int from, int to) const {
    return next_[costs_.size() * index_of(from) + index_of(to)];
  }

  CostMatrix costs_;
  std::vector<int> next_;  ///< the vertex after `from` on the way to `to`, by both
};

}  // namespace polypath::collective
