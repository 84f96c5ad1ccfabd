#include "plan/pieces/piece_shares.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/single/sparsify_shares.h"

namespace polypath::plan {
namespace {

class PieceCosts {
 public:
  PieceCosts(const Machine& machine, const ResourceModel& resources, Bytes piece, Bytes chunk)
      : machine_(machine),
        resources_(resources),
        piece_(piece),
        per_chunk_(std::max(1.0, std::floor(chunk.real() / piece.real()))) {}

  [[nodiscard]] SharedPath path(const Path& path) const {
    SharedPath shared{time(path), claims(path.first)};
    if (path.staged())
      for (const Use& use : claims(path.second)) shared.claims.push_back(use);
    shared.claims.push_back({calling_thread(), calls(path).value / piece_.real()});
    merge_claims(shared.claims);
    return shared;
  }

  [[nodiscard]] std::vector<Capacity> capacities() const {
    std::vector<Capacity> capacities = resources_.capacities();
    capacities.push_back(Capacity::copies(1));
    return capacities;
  }

 private:
  [[nodiscard]] ResourceId calling_thread() const {
    return {static_cast<std::int32_t>(resources_.capacities().size())};
  }

  [[nodiscard]] Seconds time(HopId id) const {
    const Hop& hop = machine_.hop(id);
    return hop.latency + piece_ / hop.bandwidth;
  }

  // A staged path flows once its first chunk has arrived.
  [[nodiscard]] LinearTime time(const Path& path) const {
    const Seconds copy = machine_.costs.copy;
    if (!path.staged()) return {time(path.first).value / piece_.real(), copy};
    const Seconds first = time(path.first), second = time(path.second);
    const Seconds arrived = std::max(first, copy) * per_chunk_;
    return {std::max(first, second).value / piece_.real(),
            arrived + machine_.staging(path.first, path.second)};
  }

  // An engine is taken for a piece's latency, too.
  [[nodiscard]] std::vector<Use> claims(HopId hop) const {
    std::vector<Use> claims = resources_.claims(hop);
    const double longer = time(hop) / (piece_ / machine_.hop(hop).bandwidth);
    for (Use& claim : claims)
      if (machine_.resource(claim.resource).copies_at_once > 0) claim.weight *= longer;
    return claims;
  }

  [[nodiscard]] Seconds calls(const Path& path) const {
    const CallCosts& costs = machine_.costs;
    if (!path.staged()) return costs.copy;
    return costs.copy * 2 + (costs.event_record + costs.event_wait) * (2 / per_chunk_);
  }

  const Machine& machine_;
  const ResourceModel& resources_;
  Bytes piece_;
  double per_chunk_;  // pieces
};

}  // namespace

std::vector<double> piece_shares(const Machine& machine, const ResourceModel& resources,
                                 const std::vector<Path>& paths, Bytes piece, Bytes total,
                                 Bytes chunk, std::size_t most) {
  const PieceCosts costs(machine, resources, piece, chunk);
  std::vector<SharedPath> problem;
  for (const Path& path : paths) problem.push_back(costs.path(path));
  return sparsify_shares(std::move(problem), costs.capacities(), total, piece, most);
}

}  // namespace polypath::plan
