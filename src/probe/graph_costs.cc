// The costs of graphs; see call_costs.h.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "probe/call_costs.h"
#include "probe/fit.h"

namespace polypath::probe {
namespace {

constexpr std::array kNodes = {4, 8, 16, 32};
constexpr Bytes kChunk = 64_KiB;

// `nodes` copies, chunk by chunk over both hops. `moved`: of memory one chunk further on.
std::vector<GraphNode> staged_nodes(Workbench& bench, const HopPair& pair, int nodes, bool moved) {
  const Bytes room = kChunk * (kNodes.back() + 1);
  const CopyRequest in = bench.copy_over(pair.first, room, 0, 1);
  const CopyRequest out = bench.copy_over(pair.second, room, 1, 2);
  std::vector<GraphNode> graph;
  for (int i = 0; i < nodes; ++i) {
    GraphNode node{i % 2 == 0 ? in : out, {}};
    const auto chunk = static_cast<std::uint64_t>(i) / 2 + (moved ? 1U : 0U);
    const Bytes offset = kChunk * chunk;
    node.copy.destination = node.copy.destination + offset;
    node.copy.source = node.copy.source + offset;
    node.copy.bytes = kChunk;
    if (i >= 2) node.after.push_back(i - 2);
    if (i % 2 == 1) node.after.push_back(i - 1);
    graph.push_back(std::move(node));
  }
  return graph;
}

class GraphMeasurement {
 public:
  GraphMeasurement(Workbench& bench, const Sampler& sampler)
      : bench_(bench),
        sampler_(sampler.trust().believing(sampler.trust().most_graph_fit_error)),
        pair_(staged_pair(bench.machine())) {}

  GraphCosts measure();

 private:
  Sample launch(int nodes);
  Sample instantiate(int nodes);
  Cost update();
  NodeCosts over_nodes(const std::string& what, Sample (GraphMeasurement::*once)(int));
  NodeCosts fit(Sample (GraphMeasurement::*once)(int));

  Workbench& bench_;
  Sampler sampler_;
  HopPair pair_;
};

Sample GraphMeasurement::launch(int nodes) {
  const Graph graph(bench_.driver(), staged_nodes(bench_, pair_, nodes, false));
  const StreamHandle stream = bench_.stream_of(pair_.first);
  const auto once = [&] {
    const Seconds start = bench_.driver().now();
    bench_.driver().launch(graph.handle(), stream);
    const Seconds end = bench_.driver().now();
    bench_.driver().synchronize(stream);
    return (end - start).value;
  };
  return sampler_.measure(fmt::format("launching a graph of {} copies", nodes),
                          [&] { return steady(once); });
}

Sample GraphMeasurement::instantiate(int nodes) {
  const std::vector<GraphNode> plan = staged_nodes(bench_, pair_, nodes, false);
  const auto once = [&] {
    const Seconds start = bench_.driver().now();
    const Graph graph(bench_.driver(), plan);
    return (bench_.driver().now() - start).value;
  };
  return sampler_.measure(fmt::format("instantiating a graph of {} copies", nodes),
                          [&] { return steady(once); });
}

Cost GraphMeasurement::update() {
  const int nodes = kNodes.back();
  const std::array plans = {staged_nodes(bench_, pair_, nodes, true),
                            staged_nodes(bench_, pair_, nodes, false)};
  const Graph graph(bench_.driver(), plans[1]);
  std::size_t turn = 0;
  const auto once = [&] {
    const std::vector<GraphNode>& plan = plans[turn++ % 2];
    const Seconds start = bench_.driver().now();
    for (int i = 0; i < nodes; ++i) {
      const CopyRequest& copy = plan[static_cast<std::size_t>(i)].copy;
      bench_.driver().update_node(graph.handle(), i, copy.destination, copy.source);
    }
    return (bench_.driver().now() - start).value / nodes;
  };
  const Sample sample = sampler_.measure("updating a graph's nodes", [&] { return steady(once); });
  return {{sample.value}, sample.spread};
}

NodeCosts GraphMeasurement::fit(Sample (GraphMeasurement::*once)(int)) {
  std::vector<Point> points;
  NodeCosts costs;
  for (const int nodes : kNodes) {
    const Sample sample = (this->*once)(nodes);
    // A call that costs nothing has no line in relative terms.
    if (sample.value > 0) points.push_back({static_cast<double>(nodes), sample.value});
    costs.spread = std::max(costs.spread, sample.spread);
  }
  if (points.size() < 2) return costs;
  const Line line = fit_line(points);
  costs.once = {line.intercept};
  costs.per_node = {std::max(line.slope, 0.0)};
  costs.fit_error = largest_residual(line, points);
  return costs;
}

NodeCosts GraphMeasurement::over_nodes(const std::string& what,
                                       Sample (GraphMeasurement::*once)(int)) {
  const double most = sampler_.trust().most_graph_fit_error;
  NodeCosts costs = fit(once);
  for (int i = 1; i < sampler_.trust().tries && costs.fit_error > most; ++i) costs = fit(once);
  if (costs.fit_error > most)
    fail_noisy(what, "its times differ from a cost per node by", costs.fit_error, most);
  return costs;
}

GraphCosts GraphMeasurement::measure() {
  GraphCosts costs;
  costs.launch = over_nodes("launching graphs", &GraphMeasurement::launch);
  costs.instantiate = over_nodes("instantiating graphs", &GraphMeasurement::instantiate);
  costs.update_node = update();
  return costs;
}

}  // namespace

GraphCosts measure_graph_costs(Workbench& bench, const Sampler& sampler) {
  return GraphMeasurement(bench, sampler).measure();
}

}  // namespace polypath::probe
