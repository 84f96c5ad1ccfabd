#include "collective/trees/arborescence.h"

#include <algorithm>
#include <optional>

namespace polypath {
namespace {

struct Edge {
  int from, to;
  double cost;
  int original;  ///< its index one level up, where vertices are not contracted yet
};

// The cheapest edge into each vertex, by index; -1 of the root and where there is none.
std::vector<int> cheapest_into(const std::vector<Edge>& edges, int vertices, int root) {
  std::vector<int> best(static_cast<std::size_t>(vertices), -1);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (edges[i].to == root) continue;
    int& known = best[static_cast<std::size_t>(edges[i].to)];
    if (known < 0 || edges[i].cost < edges[static_cast<std::size_t>(known)].cost)
      known = static_cast<int>(i);
  }
  return best;
}

// A cycle of the cheapest edges, if there is one: which vertices are on it.
std::optional<std::vector<bool>> cycle_of(const std::vector<Edge>& edges,
                                          const std::vector<int>& best, int root) {
  const auto before = [&](int vertex) {
    return edges[static_cast<std::size_t>(best[static_cast<std::size_t>(vertex)])].from;
  };
  std::vector<int> seen_from(best.size(), -1);
  for (int start = 0; start < static_cast<int>(best.size()); ++start) {
    int vertex = start;
    while (vertex != root && seen_from[static_cast<std::size_t>(vertex)] < 0) {
      seen_from[static_cast<std::size_t>(vertex)] = start;
      vertex = before(vertex);
    }
    if (vertex == root || seen_from[static_cast<std::size_t>(vertex)] != start) continue;
    std::vector<bool> cycle(best.size());
    for (int on = vertex; !cycle[static_cast<std::size_t>(on)]; on = before(on))
      cycle[static_cast<std::size_t>(on)] = true;
    return cycle;
  }
  return std::nullopt;
}

// Indices of the tree's edges; empty if there is none.
std::vector<int> cheapest_edges(const std::vector<Edge>& edges, int vertices, int root) {
  std::vector<int> best = cheapest_into(edges, vertices, root);
  for (int vertex = 0; vertex < vertices; ++vertex)
    if (vertex != root && best[static_cast<std::size_t>(vertex)] < 0) return {};
  const auto cycle = cycle_of(edges, best, root);
  if (!cycle) {
    std::erase(best, -1);
    return best;
  }
  // The cycle becomes one vertex; an edge into it costs what it costs more than the one it replaces.
  std::vector<int> contracted(static_cast<std::size_t>(vertices));
  int count = 0;
  for (int vertex = 0; vertex < vertices; ++vertex)
    if (!(*cycle)[static_cast<std::size_t>(vertex)]) contracted[static_cast<std::size_t>(vertex)] = count++;
  for (int vertex = 0; vertex < vertices; ++vertex)
    if ((*cycle)[static_cast<std::size_t>(vertex)]) contracted[static_cast<std::size_t>(vertex)] = count;
  std::vector<Edge> fewer;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const auto [from, to, cost, original] = edges[i];
    const int a = contracted[static_cast<std::size_t>(from)], b = contracted[static_cast<std::size_t>(to)];
    if (a == b) continue;
    const double less =
        b == count ? edges[static_cast<std::size_t>(best[static_cast<std::size_t>(to)])].cost : 0;
    fewer.push_back({a, b, cost - less, static_cast<int>(i)});
  }
  std::vector<int> chosen;
  for (const int each : cheapest_edges(fewer, count + 1, contracted[static_cast<std::size_t>(root)]))
    chosen.push_back(fewer[static_cast<std::size_t>(each)].original);
  if (chosen.empty()) return {};
  const auto entered = std::ranges::find_if(chosen, [&](int each) {
    return (*cycle)[static_cast<std::size_t>(edges[static_cast<std::size_t>(each)].to)];
  });
  const int replaced = edges[static_cast<std::size_t>(*entered)].to;
  for (int vertex = 0; vertex < vertices; ++vertex)
    if ((*cycle)[static_cast<std::size_t>(vertex)] && vertex != replaced)
      chosen.push_back(best[static_cast<std::size_t>(vertex)]);
  return chosen;
}

}  // namespace

std::vector<int> cheapest_arborescence(const CostMatrix& costs, int root) {
  const int vertices = static_cast<int>(costs.size());
  std::vector<Edge> edges;
  for (int from = 0; from < vertices; ++from)
    for (int to = 0; to < vertices; ++to)
      if (const double cost = costs[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
          from != to && cost < kNoEdge)
        edges.push_back({from, to, cost, -1});
  const std::vector<int> chosen = cheapest_edges(edges, vertices, root);
  if (chosen.empty()) return {};
  std::vector<int> parents(costs.size(), -1);
  for (const int each : chosen) {
    const Edge& edge = edges[static_cast<std::size_t>(each)];
    parents[static_cast<std::size_t>(edge.to)] = edge.from;
  }
  return parents;
}

ShortestPaths::ShortestPaths(const CostMatrix& costs)
    : costs_(costs), next_(costs.size(), std::vector<int>(costs.size(), -1)) {
  const std::size_t vertices = costs.size();
  for (std::size_t from = 0; from < vertices; ++from)
    for (std::size_t to = 0; to < vertices; ++to)
      if (costs_[from][to] < kNoEdge) next_[from][to] = static_cast<int>(to);
  for (std::size_t vertex = 0; vertex < vertices; ++vertex) {
    costs_[vertex][vertex] = 0;
    next_[vertex][vertex] = static_cast<int>(vertex);
  }
  for (std::size_t by = 0; by < vertices; ++by)
    for (std::size_t from = 0; from < vertices; ++from)
      for (std::size_t to = 0; to < vertices; ++to)
        if (const double cost = costs_[from][by] + costs_[by][to]; cost < costs_[from][to]) {
          costs_[from][to] = cost;
          next_[from][to] = next_[from][by];
        }
}

std::vector<int> ShortestPaths::path(int from, int to) const {
  if (next_[at(from)][at(to)] < 0) return {};
  std::vector<int> vertices = {from};
  while (vertices.back() != to) vertices.push_back(next_[at(vertices.back())][at(to)]);
  return vertices;
}

}  // namespace polypath
