#include "plan/piece_shares.h"

#include <algorithm>
#include <cmath>

#include "model/share_problem.h"

namespace polypath {
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
    merge(shared.claims);
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

  static void merge(std::vector<Use>& claims) {
    std::vector<Use> sums;
    for (const Use& use : claims) {
      const auto same = std::find_if(sums.begin(), sums.end(), [&](const Use& other) {
        return other.resource == use.resource;
      });
      if (same != sums.end()) same->weight += use.weight;
      else sums.push_back(use);
    }
    claims = std::move(sums);
  }

  const Machine& machine_;
  const ResourceModel& resources_;
  Bytes piece_;
  double per_chunk_;  // pieces
};

// The staged path that carries least; 0 if none does.
std::size_t least_of(const std::vector<double>& shares) {
  std::size_t least = 0;
  for (std::size_t path = 1; path < shares.size(); ++path)
    if (shares[path] > 0 && (least == 0 || shares[path] < shares[least])) least = path;
  return least;
}

}  // namespace

std::vector<double> piece_shares(const Machine& machine, const ResourceModel& resources,
                                 const std::vector<Path>& paths, Bytes piece, Bytes total,
                                 Bytes chunk, std::size_t most) {
  const PieceCosts costs(machine, resources, piece, chunk);
  std::vector<SharedPath> problem;
  for (const Path& path : paths) problem.push_back(costs.path(path));
  std::vector<std::size_t> used(paths.size());
  for (std::size_t path = 0; path < used.size(); ++path) used[path] = path;
  while (true) {
    const auto shares = solve_shares(problem, costs.capacities(), total, piece).shares;
    const auto carrying =
        std::count_if(shares.begin(), shares.end(), [](double s) { return s > 0; });
    if (static_cast<std::size_t>(carrying) <= most) {
      std::vector<double> all(paths.size(), 0);
      for (std::size_t u = 0; u < used.size(); ++u) all[used[u]] = shares[u];
      return all;
    }
    const auto out = static_cast<std::ptrdiff_t>(least_of(shares));
    problem.erase(problem.begin() + out);
    used.erase(used.begin() + out);
  }
}

}  // namespace polypath
