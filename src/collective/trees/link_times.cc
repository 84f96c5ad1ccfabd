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

LinkTimes::LinkTimes(const Machine& machine, std::span<const PlaceId> ranks)
    : ranks_(ranks.size()), edge_of_(ranks.size() * ranks.size()) {
  std::vector<std::size_t> rows(machine.resources.size(), kNone);
  for (std::size_t from = 0; from < ranks_; ++from)
    for (std::size_t to = 0; to < ranks_; ++to) {
      const auto hop = machine.find_hop(ranks[from], ranks[to]);
      if (from == to || !hop) continue;
      const BusyTimes times = busy_times_of(machine, *hop, rows);
      edge_of_[ranks_ * from + to] = edges_.size();
      edges_.push_back({from, to, times_.size(), times_.size() + times.size()});
      times_.insert(times_.end(), times.begin(), times.end());
    }
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
  std::vector<double> by_row(resources_);
  for (const Vertex& vertex : tree.vertices()) {
    if (vertex.parent < 0) continue;
    const auto child = index_of(vertex.rank);
    const auto parent = index_of(tree.vertex(vertex.parent).rank);
    if (child == parent) continue;
    const std::size_t edge = inwards ? ranks_ * child + parent : ranks_ * parent + child;
    for (const BusyTime& each : times_of(edges_[edge_of_[edge]]))
      by_row[each.resource] += each.time;
  }
  BusyTimes times;
  for (std::size_t row = 0; row < by_row.size(); ++row)
    if (by_row[row] > 0) times.push_back({row, by_row[row]});
  return times;
}

}  // namespace polypath::collective
