#include "collective/trees/arborescence.h"

#include <algorithm>

#include "collective/trees/index_of.h"

namespace polypath::collective {
namespace {

struct Edge {
  int from, to;
  double cost;
  int original;  ///< its index one level up, where vertices are not contracted yet
};

// The cheapest edge into each vertex, by index; -1 of the root and where there is none.
std::vector<int> cheapest_into(const std::vector<Edge>& edges, int vertices, int root) {
  std::vector<int> best(index_of(vertices), -1);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (edges[i].to == root) continue;
    int& known = best[index_of(edges[i].to)];
    if (known < 0 || edges[i].cost < edges[index_of(known)].cost) known = static_cast<int>(i);
  }
  return best;
}

// Which vertices are on a cycle of the cheapest edges; empty if there is none.
std::vector<bool> cycle_of(const std::vector<Edge>& edges, const std::vector<int>& best, int root) {
  const auto before = [&](int vertex) { return edges[index_of(best[index_of(vertex)])].from; };
  std::vector<int> seen_from(best.size(), -1);
  for (int start = 0; start < static_cast<int>(best.size()); ++start) {
    int vertex = start;
    while (vertex != root && seen_from[index_of(vertex)] < 0) {
      seen_from[index_of(vertex)] = start;
      vertex = before(vertex);
    }
    if (vertex == root || seen_from[index_of(vertex)] != start) continue;
    std::vector<bool> cycle(best.size());
    for (int on = vertex; !cycle[index_of(on)]; on = before(on)) cycle[index_of(on)] = true;
    return cycle;
  }
  return {};
}

// A graph with a cycle of it taken for one vertex, the last.
struct Contracted {
  std::vector<Edge> edges;
  std::vector<int> number_of;  ///< by vertex, what it is there
  int vertices = 0;
};

// An edge into the cycle costs what it costs more than the one that it replaces.
Contracted contracted(const std::vector<Edge>& edges, const std::vector<int>& best,
                      const std::vector<bool>& cycle) {
  Contracted fewer;
  fewer.number_of.resize(cycle.size());
  int count = 0;
  for (std::size_t vertex = 0; vertex < cycle.size(); ++vertex)
    if (!cycle[vertex]) fewer.number_of[vertex] = count++;
  for (std::size_t vertex = 0; vertex < cycle.size(); ++vertex)
    if (cycle[vertex]) fewer.number_of[vertex] = count;
  fewer.vertices = count + 1;
  fewer.edges.reserve(edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const int from = fewer.number_of[index_of(edges[i].from)];
    const int to = fewer.number_of[index_of(edges[i].to)];
    if (from == to) continue;
    const double less = to == count ? edges[index_of(best[index_of(edges[i].to)])].cost : 0;
    fewer.edges.push_back({from, to, edges[i].cost - less, static_cast<int>(i)});
  }
  return fewer;
}

// Indices of the tree's edges; empty if there is none.
std::vector<int> cheapest_edges(const std::vector<Edge>& edges, int vertices, int root) {
  std::vector<int> best = cheapest_into(edges, vertices, root);
  for (int vertex = 0; vertex < vertices; ++vertex)
    if (vertex != root && best[index_of(vertex)] < 0) return {};
  const std::vector<bool> cycle = cycle_of(edges, best, root);
  if (cycle.empty()) {
    std::erase(best, -1);
    return best;
  }
  const Contracted fewer = contracted(edges, best, cycle);
  std::vector<int> chosen;
  int entered = -1;
  for (const int each :
       cheapest_edges(fewer.edges, fewer.vertices, fewer.number_of[index_of(root)])) {
    chosen.push_back(fewer.edges[index_of(each)].original);
    if (const int to = edges[index_of(chosen.back())].to; cycle[index_of(to)]) entered = to;
  }
  for (int vertex = 0; vertex < vertices && !chosen.empty(); ++vertex)
    if (cycle[index_of(vertex)] && vertex != entered) chosen.push_back(best[index_of(vertex)]);
  return chosen;
}

}  // namespace

std::vector<int> cheapest_arborescence(const CostMatrix& costs, int root) {
  const int vertices = static_cast<int>(costs.size());
  std::vector<Edge> edges;
  edges.reserve(costs.size() * costs.size());
  for (int from = 0; from < vertices; ++from)
    for (int to = 0; to < vertices; ++to)
      if (const double cost = costs[index_of(from)][index_of(to)]; from != to && cost < kNoEdge)
        edges.push_back({from, to, cost, -1});
  const std::vector<int> chosen = cheapest_edges(edges, vertices, root);
  if (chosen.empty()) return {};
  std::vector<int> parents(costs.size(), -1);
  for (const int each : chosen) {
    const Edge& edge = edges[index_of(each)];
    parents[index_of(edge.to)] = edge.from;
  }
  return parents;
}

bool is_direct_best(const CostMatrix& costs, int from, int to) {
  double leaves = kNoEdge, arrives = kNoEdge;
  for (std::size_t other = 0; other < costs.size(); ++other) {
    if (other == index_of(from) || other == index_of(to)) continue;
    leaves = std::min(leaves, costs[index_of(from)][other]);
    arrives = std::min(arrives, costs[other][index_of(to)]);
  }
  return costs[index_of(from)][index_of(to)] <= leaves + arrives;
}

ShortestPaths::ShortestPaths(const CostMatrix& costs)
    : costs_(costs), next_(costs.size() * costs.size(), -1) {
  const std::size_t vertices = costs.size();
  for (std::size_t from = 0; from < vertices; ++from)
    for (std::size_t to = 0; to < vertices; ++to)
      if (costs_[from][to] < kNoEdge) next_[vertices * from + to] = static_cast<int>(to);
  for (std::size_t vertex = 0; vertex < vertices; ++vertex) {
    costs_[vertex][vertex] = 0;
    next_[vertices * vertex + vertex] = static_cast<int>(vertex);
  }
  for (std::size_t by = 0; by < vertices; ++by)
    for (std::size_t from = 0; from < vertices; ++from) {
      if (from == by || costs_[from][by] == kNoEdge) continue;
      for (std::size_t to = 0; to < vertices; ++to)
        if (const double cost = costs_[from][by] + costs_[by][to]; cost < costs_[from][to]) {
          costs_[from][to] = cost;
          next_[vertices * from + to] = next_[vertices * from + by];
        }
    }
}

std::vector<int> ShortestPaths::path(int from, int to) const {
  if (next(from, to) < 0) return {};
  std::vector<int> vertices = {from};
  while (vertices.back() != to) vertices.push_back(next(vertices.back(), to));
  return vertices;
}

}  // namespace polypath::collective
