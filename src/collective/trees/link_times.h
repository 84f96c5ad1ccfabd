#pragma once
// How long a byte from one rank to another occupies each resource of a machine. A hop that is
// slower than all that it uses is a resource of its own. By hosts, an edge whose direct copy is
// slower than both copies by way of a host, as between sockets, is the cheapest such way: those
// copies keep none of the engines busy that make the other copies between GPUs.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "collective/trees/arborescence.h"
#include "collective/trees/tree.h"
#include "machine/machine.h"

namespace polypath::collective {

/// A byte occupies the resource for so long.
struct BusyTime {
  std::size_t resource = 0;
  double time = 0;
};
using BusyTimes = std::vector<BusyTime>;  ///< each resource once at most

/// True if LinkTimes has an edge by way of a host.
bool has_ways_by_hosts(const Machine& machine, std::span<const PlaceId> ranks);

class LinkTimes {
 public:
  LinkTimes(const Machine& machine, std::span<const PlaceId> ranks, bool by_hosts);

  [[nodiscard]] int ranks() const { return static_cast<int>(ranks_); }
  [[nodiscard]] std::size_t resources() const { return resources_; }
  /// Of one byte along each edge of the tree, inwards or outwards, by the way that it has there.
  [[nodiscard]] BusyTimes of(const Tree& tree, bool inwards) const;
  /// Of each edge's cheapest way, what `cost` says of its resources, in all; copies cost a little
  /// in any case, so that of equally busy ways the shorter one is the cheaper.
  template <class Cost>
  [[nodiscard]] CostMatrix costs(const Cost& cost) const;
  /// Has each edge of the tree go by its cheapest way.
  template <class Cost>
  void choose_ways(Tree& tree, bool inwards, const Cost& cost) const;

 private:
  static constexpr double kCostOfAnEdge = 1e-4;  // of the dearest one

  /// A direct copy, or two by way of a host, with its part of `times_`.
  struct Way {
    PlaceId by;
    std::size_t first, end;
  };
  /// The ways between two of the ranks, a part of `ways_`.
  struct Edge {
    std::size_t from = 0, to = 0, first = 0, end = 0;
  };
  using Rows = std::vector<std::size_t>;  ///< by resource of the machine

  void add_ways_by_hosts(const Machine& machine, HopId direct, Rows& rows);
  void add_way(const Machine& machine, PlaceId by, std::span<const HopId> hops, Rows& rows);
  [[nodiscard]] BusyTimes busy_times_of(const Machine& machine, HopId hop, Rows& rows);
  [[nodiscard]] std::span<const BusyTime> times_of(const Way& way) const {
    return std::span(times_).subspan(way.first, way.end - way.first);
  }
  [[nodiscard]] std::span<const Way> ways_of(const Edge& edge) const {
    return std::span(ways_).subspan(edge.first, edge.end - edge.first);
  }
  /// Between the ranks of a vertex and of its parent; null if they are one.
  [[nodiscard]] const Edge* edge_of(const Tree& tree, const Vertex& vertex, bool inwards) const;
  template <class Cost>
  [[nodiscard]] double cost_of(const Way& way, const Cost& cost) const;

  std::size_t ranks_, resources_ = 0;
  std::vector<Edge> edges_;
  std::vector<Way> ways_;             ///< of all edges, one after another
  BusyTimes times_;                   ///< of all ways, one after another
  std::vector<std::size_t> edge_of_;  ///< by ranks·from + to; those that there are
};

template <class Cost>
double LinkTimes::cost_of(const Way& way, const Cost& cost_of) const {
  double cost = 0;
  for (const BusyTime& each : times_of(way)) cost += cost_of(each);
  return cost;
}

template <class Cost>
void LinkTimes::choose_ways(Tree& tree, bool inwards, const Cost& cost) const {
  for (int number = 1; number < static_cast<int>(tree.vertices().size()); ++number) {
    const Edge* edge = edge_of(tree, tree.vertex(number), inwards);
    if (edge == nullptr) continue;
    const auto ways = ways_of(*edge);
    tree.go_by(number, std::ranges::min_element(ways, {}, [&](const Way& way) {
                         return cost_of(way, cost);
                       })->by);
  }
}

template <class Cost>
CostMatrix LinkTimes::costs(const Cost& cost_of) const {
  CostMatrix costs(ranks_);
  double dearest = 0;
  for (const Edge& edge : edges_) {
    double& cost = costs[edge.from][edge.to];
    for (const Way& way : ways_of(edge)) cost = std::min(cost, this->cost_of(way, cost_of));
    dearest = std::max(dearest, cost);
  }
  for (const Edge& edge : edges_) costs[edge.from][edge.to] += kCostOfAnEdge * dearest;
  return costs;
}

}  // namespace polypath::collective
