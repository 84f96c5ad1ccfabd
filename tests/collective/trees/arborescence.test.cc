// Cheapest trees and paths, held against all that there are.

#include "collective/trees/arborescence.h"

#include <gmock/gmock.h>

#include "support/effort.h"
#include "support/random.h"

namespace polypath::test::arborescence_test {
namespace {

CostMatrix random_costs(Random& random, int vertices, int edges_of_100) {
  CostMatrix costs(index_of(vertices));
  for (std::size_t from = 0; from < costs.size(); ++from)
    for (std::size_t to = 0; to < costs.size(); ++to)
      if (random.chance(edges_of_100)) costs[from][to] = random.integer(0, 20);
  return costs;
}

// What the tree costs; infinite if it does not join the root to all.
double cost_of(const CostMatrix& costs, const std::vector<int>& parents, int root) {
  double cost = 0;
  for (int vertex = 0; vertex < static_cast<int>(parents.size()); ++vertex) {
    if (vertex == root) continue;
    const int parent = parents[index_of(vertex)];
    cost += parent == vertex ? kNoEdge : costs[index_of(parent)][index_of(vertex)];
    int above = vertex;
    for (std::size_t steps = 0; above != root; above = parents[index_of(above)])
      if (++steps > parents.size()) return kNoEdge;
  }
  return cost;
}

double least_of_all_trees(const CostMatrix& costs, int root) {
  const int vertices = static_cast<int>(costs.size());
  std::vector<int> parents(index_of(vertices), 0);
  parents[index_of(root)] = -1;
  double least = kNoEdge;
  while (true) {
    least = std::min(least, cost_of(costs, parents, root));
    int vertex = 0;
    for (; vertex < vertices; ++vertex) {
      if (vertex == root) continue;
      if (++parents[index_of(vertex)] < vertices) break;
      parents[index_of(vertex)] = 0;
    }
    if (vertex == vertices) return least;
  }
}

TEST(Arborescence, IsAsCheapAsAnyTree) {
  Random random(3);
  for (int number = 0; number < short_or_long(150, 1500); ++number) {
    const int vertices = random.integer(2, 5), root = random.integer(0, vertices - 1);
    const CostMatrix costs = random_costs(random, vertices, random.pick(std::vector{40, 70, 100}));
    const double least = least_of_all_trees(costs, root);

    const std::vector<int> parents = cheapest_arborescence(costs, root);

    ASSERT_EQ(parents.empty(), least == kNoEdge) << number;
    if (!parents.empty()) EXPECT_EQ(cost_of(costs, parents, root), least) << number;
  }
}

TEST(ShortestPaths, GoOverEdgesThatCostWhatTheySay) {
  Random random(4);
  for (int number = 0; number < 200; ++number) {
    const int vertices = random.integer(2, 7);
    const CostMatrix costs = random_costs(random, vertices, 50);

    const ShortestPaths paths(costs);

    for (int from = 0; from < vertices; ++from)
      for (int to = 0; to < vertices; ++to) {
        const std::vector<int> path = paths.path(from, to);
        ASSERT_EQ(path.empty(), paths.cost(from, to) == kNoEdge);
        double cost = 0;
        for (std::size_t i = 1; i < path.size(); ++i)
          cost += costs[index_of(path[i - 1])][index_of(path[i])];
        if (path.empty()) continue;
        EXPECT_EQ(cost, paths.cost(from, to));
        if (from != to && is_direct_best(costs, from, to)) EXPECT_EQ(path.size(), 2U) << number;
        for (int by = 0; by < vertices; ++by)
          EXPECT_LE(cost, paths.cost(from, by) + paths.cost(by, to));
      }
  }
}

}  // namespace
}  // namespace polypath::test::arborescence_test
