#pragma once
// How long a byte from one rank to another occupies each resource of a machine, which a direct copy
// of its takes. A hop that is slower than all that it uses is a resource of its own.

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

class LinkTimes {
 public:
  LinkTimes(const Machine& machine, std::span<const PlaceId> ranks);

  [[nodiscard]] int ranks() const { return static_cast<int>(ranks_); }
  [[nodiscard]] std::size_t resources() const { return resources_; }
  /// Of one byte along each edge of the tree, inwards or outwards.
  [[nodiscard]] BusyTimes of(const Tree& tree, bool inwards) const;
  /// Of each edge, what `cost` says of its resources, in all; edges cost a little in any case, so
  /// that of equally busy ways the shorter one is the cheaper.
  template <class Cost>
  [[nodiscard]] CostMatrix costs(const Cost& cost) const;

 private:
  static constexpr double kCostOfAnEdge = 1e-4;  // of the dearest one

  /// A hop between two of the ranks, with its part of `times_`.
  struct Edge {
    std::size_t from, to, first, end;
  };

  [[nodiscard]] BusyTimes busy_times_of(const Machine& machine, HopId hop,
                                        std::vector<std::size_t>& rows);
  [[nodiscard]] std::span<const BusyTime> times_of(const Edge& edge) const {
    return std::span(times_).subspan(edge.first, edge.end - edge.first);
  }

  std::size_t ranks_, resources_ = 0;
  std::vector<Edge> edges_;
  BusyTimes times_;                   ///< of all edges, one after another
  std::vector<std::size_t> edge_of_;  ///< by ranks·from + to; those that there are
};

template <class Cost>
CostMatrix LinkTimes::costs(const Cost& cost_of) const {
  CostMatrix costs(ranks_);
  double dearest = 0;
  for (const Edge& edge : edges_) {
    double& cost = costs[edge.from][edge.to] = 0;
    for (const BusyTime& each : times_of(edge)) cost += cost_of(each);
    dearest = std::max(dearest, cost);
  }
  for (const Edge& edge : edges_) costs[edge.from][edge.to] += kCostOfAnEdge * dearest;
  return costs;
}

}  // namespace polypath::collective
