#pragma once
// Trees along which bytes go from one rank to many, from many to one, or from one to another. A
// rank may stand at several vertices, where it only hands on, or where its group's values meet
// before those of all groups do.

#include <vector>

#include "collective/trees/index_of.h"
#include "core/ids.h"

namespace polypath::collective {

struct Vertex {
  int rank = 0;
  int parent = -1;         ///< -1: the root, which is the first vertex; parents come first
  int depth = 0;           ///< edges to the root, between vertices of one rank included
  bool takes_part = true;  ///< inwards: its rank's value is added here; outwards: the rank keeps it
  int order = 0;    ///< inwards: among the operands of its parent, where own ones have a rank
  PlaceId by = {};  ///< the host by way of which its edge goes; invalid: a direct copy

  bool operator==(const Vertex&) const = default;
};

class Tree {
 public:
  explicit Tree(int root, bool takes_part = true) {
    vertices_.push_back({.rank = root, .takes_part = takes_part});
  }

  /// Returns the new vertex.
  int add(int rank, int parent, bool takes_part, int order = 0) {
    const int depth = vertices_[index_of(parent)].depth + 1;
    vertices_.push_back(
        {.rank = rank, .parent = parent, .depth = depth, .takes_part = takes_part, .order = order});
    return static_cast<int>(vertices_.size()) - 1;
  }

  [[nodiscard]] const std::vector<Vertex>& vertices() const { return vertices_; }
  [[nodiscard]] const Vertex& vertex(int number) const { return vertices_[index_of(number)]; }
  /// The edge to its parent goes by way of a host, or directly if it is invalid.
  void go_by(int vertex, PlaceId host) { vertices_[index_of(vertex)].by = host; }
  bool operator==(const Tree&) const = default;
  [[nodiscard]] int depth() const {
    int most = 0;
    for (const Vertex& each : vertices_) most = each.depth > most ? each.depth : most;
    return most;
  }

 private:
  std::vector<Vertex> vertices_;
};

}  // namespace polypath::collective
