#pragma once
// How long a byte from one rank to another occupies each resource of a machine. A hop that is
// slower than all that it uses is a resource of its own. By hosts, an edge whose direct copy is
// slower than both copies by way of a host, as between sockets, is the cheapest such way: those
// copies keep none of the engines busy that make the other copies between GPUs.

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
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

  bool operator==(const BusyTime&) const = default;
};
using BusyTimes = std::vector<BusyTime>;  ///< each resource once at most

using PathByHost = std::array<HopId, 2>;

/// The copies by way of a host, each of which is faster than the direct one; never between nodes,
/// where the hosts' adapters are the GPUs' own.
std::optional<PathByHost> faster_by(const Machine& machine, HopId direct, PlaceId host);

/// True if LinkTimes has an edge by way of a host.
bool has_ways_by_hosts(const Machine& machine, std::span<const PlaceId> ranks);

class LinkTimes {
 public:
  LinkTimes(const Machine& machine, std::span<const PlaceId> ranks, bool by_hosts);

  [[nodiscard]] int ranks() const { return static_cast<int>(ranks_); }
  [[nodiscard]] std::size_t resources() const { return resources_; }
  /// Of one byte along each edge of the tree, inwards or outwards, by the way that it has there.
  [[nodiscard]] BusyTimes of(const Tree& tree, bool inwards) const;
  /// What `price` says of each time for which a resource is busy with a byte, once each.
  template <class Price>
  [[nodiscard]] std::vector<double> prices(const Price& price) const;
  /// Of each edge's cheapest way, its prices in all; copies cost a little in any case, so that of
  /// equally busy ways the shorter one is the cheaper.
  [[nodiscard]] CostMatrix costs(std::span<const double> prices) const;
  /// Has each edge of the tree go by its cheapest way.
  void choose_ways(Tree& tree, bool inwards, std::span<const double> prices) const;

 private:
  static constexpr double kCostOfAnEdge = 1e-4;  // of the dearest one

  /// A direct copy, or two by way of a host, with its part of `time_of_ways_`.
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
  [[nodiscard]] std::size_t number_of(const BusyTime& time);
  /// Numbers in `times_`.
  [[nodiscard]] std::span<const std::size_t> times_of(const Way& way) const {
    return std::span(time_of_ways_).subspan(way.first, way.end - way.first);
  }
  [[nodiscard]] std::span<const Way> ways_of(const Edge& edge) const {
    return std::span(ways_).subspan(edge.first, edge.end - edge.first);
  }
  /// Between the ranks of a vertex and of its parent; null if they are one.
  [[nodiscard]] const Edge* edge_of(const Tree& tree, const Vertex& vertex, bool inwards) const;
  [[nodiscard]] double cost_of(const Way& way, std::span<const double> prices) const;

  std::size_t ranks_, resources_ = 0;
  std::vector<Edge> edges_;
  std::vector<Way> ways_;                  ///< of all edges, one after another
  BusyTimes times_;                        ///< those that there are, once each
  std::vector<std::size_t> time_of_ways_;  ///< numbers of all ways' times, one after another
  std::vector<std::size_t> edge_of_;       ///< by ranks·from + to; those that there are
};

template <class Price>
std::vector<double> LinkTimes::prices(const Price& price) const {
  std::vector<double> prices;
  prices.reserve(times_.size());
  for (const BusyTime& each : times_) prices.push_back(price(each));
  return prices;
}

}  // namespace polypath::collective
