#pragma once
// Divides what a collective has to move among trees, so that the busiest link is free as early as
// possible. Of values that go from one rank to all, and of sums that go the other way, the cheapest
// tree at some prices of the links is an arborescence (Wang et al., Blink, MLSys 2020, pack those);
// from one rank to another it is a shortest path. Sums in groups meet at one rank of each group,
// these at one, and from there the result goes to the root: each over shortest paths.

#include <compare>
#include <utility>
#include <vector>

#include "collective/trees/link_times.h"
#include "collective/trees/tree.h"
#include "machine/machine.h"
#include "plan/lru_cache.h"

namespace polypath::collective {

/// Bytes that go from a rank to all others, or to one of them, or the sum of all at a rank.
struct TreeDemand {
  enum class Kind { to_all, to_one, sum } kind = Kind::to_all;
  int root = 0;       ///< has the bytes at first, or the sum in the end
  int target = 0;     ///< of to_one
  double amount = 1;  ///< bytes, in any unit; above 0

  auto operator<=>(const TreeDemand&) const = default;
};

struct PackingRequest {
  std::vector<PlaceId> ranks;
  std::vector<TreeDemand> demands;
  /// In which values are summed up: each group's, then the groups' sums. None: as trees have it.
  std::vector<std::vector<int>> groups = {};
  int most_trees = 1;     ///< of a demand, each with an equal part of it or several
  bool by_hosts = false;  ///< where copies by way of a host are faster than direct ones

  auto operator<=>(const PackingRequest&) const = default;
};

/// A tree, and the part of its demand that goes along it.
struct TreeShare {
  Tree tree;
  double share = 1;
};

/// By demand, the lightest tree first; empty if some rank cannot be reached.
using Packing = std::vector<std::vector<TreeShare>>;

Packing pack_trees(const Machine& machine, const PackingRequest& request);
/// The same with the times of the request's links, which take as long to find as few trees.
Packing pack_trees(const LinkTimes& links, const PackingRequest& request);

/// Remembers packings of one machine. Not thread-safe.
class Packings {
 public:
  Packings(const Machine& machine, std::size_t most)
      : machine_(machine), known_(most), links_(kMostLinks) {}
  /// Until the next one is asked for.
  [[nodiscard]] const Packing& of(const PackingRequest& request);

 private:
  static constexpr std::size_t kMostLinks = 8;

  [[nodiscard]] const LinkTimes& links_of(const PackingRequest& request);

  const Machine& machine_;
  LruCache<PackingRequest, Packing> known_;
  LruCache<std::pair<std::vector<PlaceId>, bool>, LinkTimes> links_;  ///< by ranks, and by_hosts
};

}  // namespace polypath::collective
