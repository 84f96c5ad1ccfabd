#include "collective/trees/packing.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "collective/trees/link_times.h"

namespace polypath {
namespace {

constexpr double kGap = 0.01;        // between the time of a packing and what none is below
constexpr double kLeastShare = 0.02; // a tree with less is not worth its copies
constexpr int kMostRounds = 60;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// Outwards: of each vertex the parent; in the order in which they are reached.
Tree tree_of(const std::vector<int>& parents, int root) {
  Tree tree(root);
  std::vector<int> vertex_of(parents.size(), -1);
  vertex_of[at(root)] = 0;
  for (std::size_t added = 1; added < parents.size();)
    for (int rank = 0; rank < static_cast<int>(parents.size()); ++rank) {
      if (vertex_of[at(rank)] >= 0 || vertex_of[at(parents[at(rank)])] < 0) continue;
      vertex_of[at(rank)] = tree.add(rank, vertex_of[at(parents[at(rank)])], true, rank);
      ++added;
    }
  return tree;
}

CostMatrix transposed(const CostMatrix& costs) {
  CostMatrix result = costs;
  for (std::size_t a = 0; a < costs.size(); ++a)
    for (std::size_t b = 0; b < costs.size(); ++b) result[a][b] = costs[b][a];
  return result;
}

// A sum that meets in groups, with paths from where a value is to where it is needed.
class GroupedSums {
 public:
  GroupedSums(const CostMatrix& costs, const std::vector<std::vector<int>>& groups)
      : paths_(costs), groups_(groups), ranks_(static_cast<int>(costs.size())) {}

  [[nodiscard]] Tree cheapest(int root) const {
    int best = root;
    for (int meeting = 0; meeting < ranks_; ++meeting)
      if (cost(meeting, root) < cost(best, root)) best = meeting;
    return tree(best, root);
  }

 private:
  [[nodiscard]] double cost_of_group(const std::vector<int>& group, int collector,
                                     int meeting) const {
    double cost = paths_.cost(collector, meeting);
    for (const int member : group) cost += paths_.cost(member, collector);
    return cost;
  }
  // Of a group the one that takes in its values, all for one meeting point.
  [[nodiscard]] int collector_of(const std::vector<int>& group, int meeting) const {
    if (groups_.size() == 1) return meeting;
    return *std::ranges::min_element(group, {}, [&](int collector) {
      return cost_of_group(group, collector, meeting);
    });
  }
  [[nodiscard]] double cost(int meeting, int root) const {
    double cost = paths_.cost(meeting, root);
    for (const auto& group : groups_)
      cost += cost_of_group(group, collector_of(group, meeting), meeting);
    return cost;
  }

  [[nodiscard]] Tree tree(int meeting, int root) const {
    const bool one = groups_.size() == 1;
    Tree tree(root, one && meeting == root);
    const int met = meeting == root ? 0 : hand_on(tree, 0, meeting, root, one, 0);
    for (std::size_t number = 0; number < groups_.size(); ++number) {
      const auto& group = groups_[number];
      const int collector = collector_of(group, meeting);
      const int order = static_cast<int>(number);
      int summed = met;
      if (!one && collector == meeting) summed = tree.add(collector, met, true, order);
      else if (!one) summed = hand_on(tree, met, collector, meeting, true, order);
      for (const int member : group)
        if (member != collector) (void)hand_on(tree, summed, member, collector, true, member);
    }
    return tree;
  }
  // Vertices along the path from `from` to the rank of vertex `to`; returns that of `from`.
  [[nodiscard]] int hand_on(Tree& tree, int to, int from, int to_rank, bool takes_part,
                            int order) const {
    const std::vector<int> path = paths_.path(from, to_rank);
    int vertex = to;
    for (std::size_t i = path.size() - 1; i-- > 0;)
      vertex = tree.add(path[i], vertex, i == 0 && takes_part, order);
    return vertex;
  }

  ShortestPaths paths_;
  const std::vector<std::vector<int>>& groups_;
  int ranks_;
};

// The cheapest trees of all demands at some prices.
class CheapestTrees {
 public:
  CheapestTrees(const PackingRequest& request, const CostMatrix& costs)
      : request_(request), costs_(costs), transposed_(transposed(costs)) {}

  [[nodiscard]] std::optional<Tree> of(const TreeDemand& demand) {
    switch (demand.kind) {
      case TreeDemand::Kind::to_all: return spanning(costs_, demand.root);
      case TreeDemand::Kind::to_one: return path(demand.root, demand.target);
      default: break;
    }
    if (request_.groups.empty()) return spanning(transposed_, demand.root);
    if (!sums_) sums_.emplace(costs_, request_.groups);
    return sums_->cheapest(demand.root);
  }
  /// Each rank by its shortest path.
  [[nodiscard]] std::optional<Tree> shallow(const TreeDemand& demand) {
    if (demand.kind == TreeDemand::Kind::to_one || !request_.groups.empty()) return of(demand);
    const bool inwards = demand.kind == TreeDemand::Kind::sum;
    const ShortestPaths paths(inwards ? transposed_ : costs_);
    std::vector<int> parents(costs_.size(), -1);
    for (int rank = 0; rank < static_cast<int>(costs_.size()); ++rank) {
      if (rank == demand.root) continue;
      const std::vector<int> path = paths.path(demand.root, rank);
      if (path.empty()) return std::nullopt;
      parents[at(rank)] = path[path.size() - 2];
    }
    return tree_of(parents, demand.root);
  }

 private:
  static std::optional<Tree> spanning(const CostMatrix& costs, int root) {
    const std::vector<int> parents = cheapest_arborescence(costs, root);
    if (parents.empty()) return std::nullopt;
    return tree_of(parents, root);
  }
  [[nodiscard]] std::optional<Tree> path(int from, int to) {
    if (!paths_) paths_.emplace(costs_);
    const std::vector<int> path = paths_->path(from, to);
    if (path.empty()) return std::nullopt;
    Tree tree(from);
    for (std::size_t i = 1; i < path.size(); ++i)
      (void)tree.add(path[i], static_cast<int>(i) - 1, i + 1 == path.size());
    return tree;
  }

  const PackingRequest& request_;
  const CostMatrix& costs_;
  CostMatrix transposed_;
  std::optional<ShortestPaths> paths_;
  std::optional<GroupedSums> sums_;
};

class Packer {
 public:
  Packer(const Machine& machine, const PackingRequest& request)
      : request_(request), links_(machine, request.ranks), trees_(request.demands.size()) {}

  [[nodiscard]] Packing pack() {
    if (!begin()) return {};
    WayProgram all = program();
    for (int round = 0; round < kMostRounds; ++round) {
      all.solve();
      if (!add_cheaper(all)) break;
    }
    keep_heaviest(all);
    WayProgram kept = program();
    kept.solve();
    return shares(kept);
  }

 private:
  [[nodiscard]] bool is_inward(std::size_t demand) const {
    return request_.demands[demand].kind == TreeDemand::Kind::sum;
  }

  // One tree for each demand, shallow ones: of equally good packings the first one stays.
  bool begin() {
    const std::vector<double> alike(links_.resources(), 1.0);
    const CostMatrix costs = links_.costs(alike);
    CheapestTrees cheapest(request_, costs);
    for (std::size_t k = 0; k < trees_.size(); ++k) {
      const auto tree = cheapest.shallow(request_.demands[k]);
      if (!tree) return false;
      trees_[k].push_back({*tree});
    }
    unit_ = 0;
    for (std::size_t k = 0; k < trees_.size(); ++k)
      for (const BusyTime& each : links_.of(trees_[k].front().tree, is_inward(k)))
        unit_ = std::max(unit_, each.time);
    return unit_ > 0;
  }

  // In units in which T is about 1.
  [[nodiscard]] BusyTimes busy_times_of(std::size_t demand, const Tree& tree) const {
    BusyTimes times = links_.of(tree, is_inward(demand));
    for (BusyTime& each : times) each.time /= unit_;
    return times;
  }

  // Of the trees there are.
  [[nodiscard]] WayProgram program() {
    double all = 0;
    for (const TreeDemand& demand : request_.demands) all += demand.amount;
    std::vector<double> amounts;
    for (const TreeDemand& demand : request_.demands) amounts.push_back(demand.amount / all);
    WayProgram program(links_.resources(), amounts);
    ways_.assign(trees_.size(), {});
    for (std::size_t k = 0; k < trees_.size(); ++k)
      for (const TreeShare& each : trees_[k])
        ways_[k].push_back(program.add(k, busy_times_of(k, each.tree)));
    return program;
  }

  // The cheapest tree of each demand where that gains; false if none does much.
  bool add_cheaper(WayProgram& program) {
    std::vector<double> prices;
    for (std::size_t r = 0; r < links_.resources(); ++r) prices.push_back(program.price_of(r));
    const CostMatrix costs = links_.costs(prices);
    CheapestTrees cheapest(request_, costs);
    bool added = false;
    for (std::size_t k = 0; k < trees_.size(); ++k) {
      const Tree tree = *cheapest.of(request_.demands[k]);
      BusyTimes times = busy_times_of(k, tree);
      double cost = 0;
      for (const BusyTime& each : times) cost += each.time * prices[each.resource];
      if (cost > program.value_of(k) * (1 - kGap)) continue;
      ways_[k].push_back(program.add(k, std::move(times)));
      trees_[k].push_back({tree});
      added = true;
    }
    return added;
  }

  void keep_heaviest(const WayProgram& program) {
    for (std::size_t k = 0; k < trees_.size(); ++k) {
      set_shares(program, k);
      auto& trees = trees_[k];
      std::ranges::stable_sort(trees, std::ranges::greater{}, &TreeShare::share);
      std::size_t kept = 1;
      while (kept < trees.size() && kept < at(request_.most_trees) &&
             trees[kept].share >= kLeastShare)
        ++kept;
      trees.resize(kept, trees.front());
    }
  }

  void set_shares(const WayProgram& program, std::size_t demand) {
    for (std::size_t i = 0; i < trees_[demand].size(); ++i)
      trees_[demand][i].share = program.share_of(ways_[demand][i]);
  }

  [[nodiscard]] Packing shares(const WayProgram& program) {
    for (std::size_t k = 0; k < trees_.size(); ++k) {
      set_shares(program, k);
      std::erase_if(trees_[k], [](const TreeShare& each) { return each.share < kLeastShare; });
      std::ranges::stable_sort(trees_[k], {}, &TreeShare::share);
      const double all = std::accumulate(
          trees_[k].begin(), trees_[k].end(), 0.0,
          [](double sum, const TreeShare& each) { return sum + each.share; });
      for (TreeShare& each : trees_[k]) each.share /= all;
    }
    return trees_;
  }

  const PackingRequest& request_;
  LinkTimes links_;
  Packing trees_;  ///< by demand
  std::vector<std::vector<std::size_t>> ways_;
  double unit_ = 1;
};

}  // namespace

Packing pack_trees(const Machine& machine, const PackingRequest& request) {
  return Packer(machine, request).pack();
}

const Packing& Packings::of(const PackingRequest& request) {
  const auto known = known_.find(request);
  if (known != known_.end()) return known->second;
  return known_.emplace(request, pack_trees(machine_, request)).first->second;
}

}  // namespace polypath
