#include "collective/trees/link_times.h"

#include <algorithm>
#include <map>

#include "collective/trees/index_of.h"

namespace polypath::collective {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// An engine is busy as long as each of its copies takes.
double time_of(const Resource& resource, const Use& use, const Hop& hop) {
  double time = 0;
  if (resource.capacity < BytesPerSecond::infinity()) time = use.weight / resource.capacity.value;
  if (resource.copies_at_once > 0)
    time = std::max(time, 1 / hop.bandwidth.value / resource.copies_at_once);
  return time;
}

BusyTimes in_rows(const std::map<std::size_t, double>& by_row) {
  BusyTimes times;
  for (const auto& [row, time] : by_row) times.push_back({row, time});
  return times;
}

}  // namespace

std::optional<PathByHost> faster_by(const Machine& machine, HopId direct, PlaceId host) {
  if (machine.nodes() > 1) return std::nullopt;
  const Hop& hop = machine.hop(direct);
  const auto out = machine.find_hop(hop.source, host), in = machine.find_hop(host, hop.destination);
  if (!out || !in) return std::nullopt;
  const bool is_faster =
      hop.bandwidth < machine.hop(*out).bandwidth && hop.bandwidth < machine.hop(*in).bandwidth;
  return is_faster ? std::optional(PathByHost{*out, *in}) : std::nullopt;
}

bool has_ways_by_hosts(const Machine& machine, std::span<const PlaceId> ranks) {
  const auto hosts = machine.places_of(PlaceKind::host);
  for (const PlaceId from : ranks)
    for (const PlaceId to : ranks)
      if (const auto hop = machine.find_hop(from, to); hop && from != to)
        if (std::ranges::any_of(
                hosts, [&](PlaceId host) { return faster_by(machine, *hop, host).has_value(); }))
          return true;
  return false;
}

LinkTimes::LinkTimes(const Machine& machine, std::span<const PlaceId> ranks, bool by_hosts)
    : ranks_(ranks.size()), edge_of_(ranks.size() * ranks.size()) {
  Rows rows(machine.resources.size(), kNone);
  for (std::size_t from = 0; from < ranks_; ++from)
    for (std::size_t to = 0; to < ranks_; ++to) {
      const auto hop = machine.find_hop(ranks[from], ranks[to]);
      if (from == to || !hop) continue;
      edge_of_[ranks_ * from + to] = edges_.size();
      const std::size_t first = ways_.size();
      if (by_hosts) add_ways_by_hosts(machine, *hop, rows);
      if (ways_.size() == first) add_way(machine, {}, std::array{*hop}, rows);
      edges_.push_back({from, to, first, ways_.size()});
    }
}

void LinkTimes::add_ways_by_hosts(const Machine& machine, HopId direct, Rows& rows) {
  for (const PlaceId host : machine.places_of(PlaceKind::host))
    if (const auto path = faster_by(machine, direct, host)) add_way(machine, host, *path, rows);
}

void LinkTimes::add_way(const Machine& machine, PlaceId by, std::span<const HopId> hops,
                        Rows& rows) {
  std::map<std::size_t, double> by_row;
  for (const HopId hop : hops)
    for (const BusyTime& each : busy_times_of(machine, hop, rows))
      by_row[each.resource] += each.time;
  const std::size_t first = time_of_ways_.size();
  for (const BusyTime& each : in_rows(by_row)) time_of_ways_.push_back(number_of(each));
  ways_.push_back({by, first, time_of_ways_.size()});
}

std::size_t LinkTimes::number_of(const BusyTime& time) {
  const auto known = std::ranges::find(times_, time);
  if (known != times_.end()) return static_cast<std::size_t>(known - times_.begin());
  times_.push_back(time);
  return times_.size() - 1;
}

double LinkTimes::cost_of(const Way& way, std::span<const double> prices) const {
  double cost = 0;
  for (const std::size_t each : times_of(way)) cost += prices[each];
  return cost;
}

CostMatrix LinkTimes::costs(std::span<const double> prices) const {
  CostMatrix costs(ranks_);
  double dearest = 0;
  for (const Edge& edge : edges_) {
    double& cost = costs[edge.from][edge.to];
    for (const Way& way : ways_of(edge)) cost = std::min(cost, cost_of(way, prices));
    dearest = std::max(dearest, cost);
  }
  for (const Edge& edge : edges_) costs[edge.from][edge.to] += kCostOfAnEdge * dearest;
  return costs;
}

void LinkTimes::choose_ways(Tree& tree, bool inwards, std::span<const double> prices) const {
  for (int number = 1; number < static_cast<int>(tree.vertices().size()); ++number) {
    const Edge* edge = edge_of(tree, tree.vertex(number), inwards);
    if (edge == nullptr) continue;
    const auto cost = [&](const Way& way) { return cost_of(way, prices); };
    tree.go_by(number, std::ranges::min_element(ways_of(*edge), {}, cost)->by);
  }
}

BusyTimes LinkTimes::busy_times_of(const Machine& machine, HopId id, Rows& rows) {
  const Hop& hop = machine.hop(id);
  std::map<std::size_t, double> by_row;
  double most = 0;
  for (const Use& use : hop.uses) {
    const double time = time_of(machine.resource(use.resource), use, hop);
    if (time == 0) continue;
    std::size_t& row = rows[use.resource.index()];
    if (row == kNone) row = resources_++;
    most = std::max(most, by_row[row] += time);
  }
  if (most < 1 / hop.bandwidth.value) by_row[resources_++] = 1 / hop.bandwidth.value;
  return in_rows(by_row);
}

BusyTimes LinkTimes::of(const Tree& tree, bool inwards) const {
  std::vector<double> by_row(resources_);
  for (const Vertex& vertex : tree.vertices()) {
    const Edge* edge = vertex.parent < 0 ? nullptr : edge_of(tree, vertex, inwards);
    if (edge == nullptr) continue;
    const Way& way = *std::ranges::find(ways_of(*edge), vertex.by, &Way::by);
    for (const std::size_t each : times_of(way)) by_row[times_[each].resource] += times_[each].time;
  }
  BusyTimes times;
  for (std::size_t row = 0; row < by_row.size(); ++row)
    if (by_row[row] > 0) times.push_back({row, by_row[row]});
  return times;
}

const LinkTimes::Edge* LinkTimes::edge_of(const Tree& tree, const Vertex& vertex,
                                          bool inwards) const {
  const auto child = index_of(vertex.rank);
  const auto parent = index_of(tree.vertex(vertex.parent).rank);
  if (child == parent) return nullptr;
  return &edges_[edge_of_[inwards ? ranks_ * child + parent : ranks_ * parent + child]];
}

}  // namespace polypath::collective
