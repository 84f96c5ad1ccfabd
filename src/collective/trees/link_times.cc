#include "collective/trees/link_times.h"

#include <algorithm>
#include <map>

#include "collective/trees/index_of.h"

namespace polypath {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr double kCostOfAnEdge = 1e-4;  // of the dearest one

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

LinkTimes::LinkTimes(const Machine& machine, std::span<const PlaceId> ranks)
    : times_(ranks.size(), std::vector<std::optional<BusyTimes>>(ranks.size())) {
  std::vector<std::size_t> rows(machine.resources.size(), kNone);
  for (std::size_t from = 0; from < ranks.size(); ++from)
    for (std::size_t to = 0; to < ranks.size(); ++to)
      if (const auto hop = machine.find_hop(ranks[from], ranks[to]); from != to && hop)
        times_[from][to] = busy_times_of(machine, *hop, rows);
}

BusyTimes LinkTimes::busy_times_of(const Machine& machine, HopId id,
                                   std::vector<std::size_t>& rows) {
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
  std::map<std::size_t, double> by_row;
  for (const Vertex& vertex : tree.vertices()) {
    if (vertex.parent < 0) continue;
    const auto child = index_of(vertex.rank);
    const auto parent = index_of(tree.vertex(vertex.parent).rank);
    if (child == parent) continue;
    for (const BusyTime& each : *(inwards ? times_[child][parent] : times_[parent][child]))
      by_row[each.resource] += each.time;
  }
  return in_rows(by_row);
}

CostMatrix LinkTimes::costs(const std::function<double(const BusyTime&)>& cost_of) const {
  CostMatrix costs(times_.size(), std::vector<double>(times_.size(), kNoEdge));
  double dearest = 0;
  for (std::size_t from = 0; from < times_.size(); ++from)
    for (std::size_t to = 0; to < times_.size(); ++to) {
      if (!times_[from][to]) continue;
      double& cost = costs[from][to] = 0;
      for (const BusyTime& each : *times_[from][to]) cost += cost_of(each);
      dearest = std::max(dearest, cost);
    }
  for (auto& row : costs)
    for (double& cost : row) cost += kCostOfAnEdge * dearest;
  return costs;
}

}  // namespace polypath
