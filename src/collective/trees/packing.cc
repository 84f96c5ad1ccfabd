#include "collective/trees/packing.h"

#include <algorithm>
#include <optional>

#include "collective/trees/index_of.h"
#include "collective/trees/link_times.h"

namespace polypath::collective {
namespace {

constexpr int kPowers[] = {3, 6, 12};  // one after another: a large one alone stays where it is
constexpr int kMostRounds = 2;         // of all parts, with each; with 4 no plan of 684 is faster
constexpr double kLeastGain = 1e-6;    // of a tree that takes another's place

double power_of(double number, int power) {
  double result = 1;
  for (; power > 0; power /= 2, number *= number)
    if (power % 2 == 1) result *= number;
  return result;
}

// Outwards: of each vertex the parent; in the order in which they are reached.
Tree tree_of(const std::vector<int>& parents, int root) {
  Tree tree(root);
  std::vector<int> vertex_of(parents.size(), -1);
  vertex_of[index_of(root)] = 0;
  for (std::size_t added = 1; added < parents.size();)
    for (int rank = 0; rank < static_cast<int>(parents.size()); ++rank) {
      if (vertex_of[index_of(rank)] >= 0 || vertex_of[index_of(parents[index_of(rank)])] < 0)
        continue;
      vertex_of[index_of(rank)] =
          tree.add(rank, vertex_of[index_of(parents[index_of(rank)])], true, rank);
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
    return *std::ranges::min_element(
        group, {}, [&](int collector) { return cost_of_group(group, collector, meeting); });
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
      : request_(request), costs_(costs) {}

  [[nodiscard]] std::optional<Tree> of(const TreeDemand& demand) {
    switch (demand.kind) {
      case TreeDemand::Kind::to_all: return spanning(costs_, demand.root);
      case TreeDemand::Kind::to_one: return path(demand.root, demand.target);
      default: break;
    }
    if (request_.groups.empty()) return spanning(transposed(costs_), demand.root);
    if (!sums_) sums_.emplace(costs_, request_.groups);
    return sums_->cheapest(demand.root);
  }
  /// Each rank by its shortest path.
  [[nodiscard]] std::optional<Tree> shallow(const TreeDemand& demand) {
    if (demand.kind == TreeDemand::Kind::to_one || !request_.groups.empty()) return of(demand);
    const bool inwards = demand.kind == TreeDemand::Kind::sum;
    const ShortestPaths paths(inwards ? transposed(costs_) : costs_);
    std::vector<int> parents(costs_.size(), -1);
    for (int rank = 0; rank < static_cast<int>(costs_.size()); ++rank) {
      if (rank == demand.root) continue;
      const std::vector<int> path = paths.path(demand.root, rank);
      if (path.empty()) return std::nullopt;
      parents[index_of(rank)] = path[path.size() - 2];
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
    if (is_direct_best(costs_, from, to)) {
      Tree tree(from);
      (void)tree.add(to, 0, true);
      return tree;
    }
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
  std::optional<ShortestPaths> paths_;
  std::optional<GroupedSums> sums_;
};

// Each demand's parts, of one size, take trees in turn. An edge costs as much as Σ_r x_r^p grows by
// it, where resource r is busy for x_r, so that parts give way to each other; a part takes another
// tree if the sum becomes less. With a large p it is the busiest one's time that counts (a
// potential game: Rosenthal 1973).
class Packer {
 public:
  Packer(const LinkTimes& links, const PackingRequest& request)
      : request_(request),
        links_(links),
        busy_(links_.resources()),
        before_(busy_),
        powers_(busy_) {}

  [[nodiscard]] Packing pack() {
    if (!begin()) return {};
    for (const int power : kPowers) improve(power);
    return shares();
  }

 private:
  struct TreePart {
    std::size_t demand;
    Tree tree;
    BusyTimes times;
  };

  [[nodiscard]] const TreeDemand& demand_of(const TreePart& part) const {
    return request_.demands[part.demand];
  }
  [[nodiscard]] BusyTimes times_of(std::size_t demand, const Tree& tree) const {
    const TreeDemand& of = request_.demands[demand];
    BusyTimes times = links_.of(tree, of.kind == TreeDemand::Kind::sum);
    for (BusyTime& each : times) each.time *= of.amount / request_.most_trees;
    return times;
  }

  // Shallow trees, which stay where no others are better.
  bool begin() {
    const auto prices = links_.prices([](const BusyTime& each) { return each.time; });
    const CostMatrix costs = links_.costs(prices);
    CheapestTrees cheapest(request_, costs);
    for (std::size_t demand = 0; demand < request_.demands.size(); ++demand) {
      auto tree = cheapest.shallow(request_.demands[demand]);
      if (!tree) return false;
      links_.choose_ways(*tree, request_.demands[demand].kind == TreeDemand::Kind::sum, prices);
      for (int part = 0; part < request_.most_trees; ++part) {
        parts_.push_back({demand, *tree, times_of(demand, *tree)});
        add(parts_.back().times, 1);
      }
    }
    return true;
  }

  void add(const BusyTimes& times, double sign) {
    for (const BusyTime& each : times) {
      double& busy = busy_[each.resource];
      busy = std::max(busy + sign * each.time, 0.0);
    }
  }

  // All parts take turns, until none of them has found another tree since its last turn.
  void improve(int power) {
    std::size_t in_vain = 0, left = kMostRounds * parts_.size();
    for (std::size_t turn = 0; left > 0 && in_vain < parts_.size(); ++turn, --left)
      in_vain = take_better_tree(parts_[turn % parts_.size()], power) ? 0 : in_vain + 1;
  }

  // False if it has the best one already.
  bool take_better_tree(TreePart& part, int power) {
    add(part.times, -1);
    set_prices(part, power);
    const double amount = demand_of(part).amount / request_.most_trees;
    const auto prices = links_.prices([&](const BusyTime& each) {
      return grown({each.resource, each.time * amount}, power);
    });
    const CostMatrix costs = links_.costs(prices);
    Tree tree = *CheapestTrees(request_, costs).of(demand_of(part));
    links_.choose_ways(tree, demand_of(part).kind == TreeDemand::Kind::sum, prices);
    BusyTimes times = times_of(part.demand, tree);
    const bool better = potential(times, power) < potential(part.times, power) * (1 - kLeastGain);
    if (better) part = {part.demand, std::move(tree), std::move(times)};
    add(part.times, 1);
    return better;
  }
  void set_prices(const TreePart& part, int power) {
    const double longest = *std::ranges::max_element(busy_);
    unit_ = std::max(longest, std::ranges::max_element(part.times, {}, &BusyTime::time)->time);
    for (std::size_t r = 0; r < busy_.size(); ++r) {
      before_[r] = busy_[r] / unit_;
      powers_[r] = power_of(before_[r], power);
    }
  }

  // How much Σ_r x_r^p grows.
  [[nodiscard]] double potential(const BusyTimes& times, int power) const {
    double all = 0;
    for (const BusyTime& each : times) all += grown(each, power);
    return all;
  }
  [[nodiscard]] double grown(const BusyTime& by, int power) const {
    return power_of(before_[by.resource] + by.time / unit_, power) - powers_[by.resource];
  }

  // Parts along the same tree are one.
  [[nodiscard]] Packing shares() const {
    Packing packing(request_.demands.size());
    for (const TreePart& part : parts_) {
      auto& trees = packing[part.demand];
      const auto same = std::ranges::find(trees, part.tree, &TreeShare::tree);
      if (same != trees.end()) same->share += 1.0 / request_.most_trees;
      else trees.push_back({part.tree, 1.0 / request_.most_trees});
    }
    for (auto& trees : packing) std::ranges::stable_sort(trees, {}, &TreeShare::share);
    return packing;
  }

  const PackingRequest& request_;
  const LinkTimes& links_;
  std::vector<TreePart> parts_;
  std::vector<double> busy_;             ///< the resources
  double unit_ = 1;                      ///< in which times are, in potentials
  std::vector<double> before_, powers_;  ///< the busy times in it, and to the power
};

}  // namespace

Packing pack_trees(const LinkTimes& links, const PackingRequest& request) {
  return Packer(links, request).pack();
}

Packing pack_trees(const Machine& machine, const PackingRequest& request) {
  return pack_trees(LinkTimes(machine, request.ranks, request.by_hosts), request);
}

const LinkTimes& Packings::links_of(const PackingRequest& request) {
  const std::pair key{request.ranks, request.by_hosts};
  if (const LinkTimes* known = links_.find(key)) return *known;
  return links_.insert(key, LinkTimes(machine_, request.ranks, request.by_hosts));
}

const Packing& Packings::of(const PackingRequest& request) {
  if (const Packing* known = known_.find(request)) return *known;
  return known_.insert(request, pack_trees(links_of(request), request));
}

}  // namespace polypath::collective
