#include "engine/graph_executor.h"

#include <map>

#include "core/error.h"

namespace polypath {

GraphExecutor::GraphExecutor(Driver& driver, const Machine& machine, Hops& hops,
                             const Settings& settings, Statistics& statistics)
    : driver_(driver),
      machine_(machine),
      hops_(hops),
      statistics_(statistics),
      cache_(static_cast<std::size_t>(settings.graph_cache),
             [this](Entry& entry) { destroy(entry.graph); }),
      forked_(driver) {}

GraphExecutor::~GraphExecutor() { cache_.clear(); }

void GraphExecutor::destroy(GraphHandle graph) noexcept {
  quietly([&] { driver_.destroy_graph(graph); });
}

void GraphExecutor::prepare(const Transfer& transfer) {
  (void)forked_.on(transfer.stream_gpu);
  for (const PathShape& part : transfer.plan->shape.paths) {
    if (!part.path.staged()) continue;
    (void)hops_.stream(part.path.first);
    (void)hops_.ring(part.path.first).last_use.on(transfer.stream_gpu);
  }
  Entry* entry = cache_.find(transfer.plan->structure);
  if (entry == nullptr) {
    const GraphHandle graph = instantiate(transfer);
    const std::size_t evicted = cache_.evictions();
    cache_.insert(transfer.plan->structure, {graph, transfer.destination, transfer.source});
    statistics_.graph_evictions += cache_.evictions() - evicted;
    ++statistics_.graph_instantiations;
    return;
  }
  if (entry->destination == transfer.destination && entry->source == transfer.source) {
    ++statistics_.graph_hits;
    return;
  }
  if (update(*entry, transfer)) ++statistics_.graph_updates;
}

Address GraphExecutor::ring_base(const Transfer& transfer, const CopyNode& node) {
  const Path& path = transfer.plan->shape.paths[static_cast<std::size_t>(node.path)].path;
  return path.staged() ? hops_.ring(path.first).base : Address{};
}

// Besides the plan's own dependencies, a copy comes after the one before it on the same hop of the
// same path: a chunk never overtakes another.
GraphHandle GraphExecutor::instantiate(const Transfer& transfer) {
  std::vector<GraphNode> nodes;
  std::map<std::pair<int, HopId>, int> last_on_hop;
  for (const CopyNode& node : transfer.plan->nodes) {
    GraphNode added{bind(machine_, transfer, node, ring_base(transfer, node)), node.after};
    const auto [last, first_time] = last_on_hop.emplace(std::pair{node.path, node.hop}, 0);
    if (!first_time) added.after.push_back(last->second);
    last->second = static_cast<int>(nodes.size());
    nodes.push_back(std::move(added));
  }
  return driver_.instantiate(nodes);
}

// Gives the nodes that touch the buffers their new addresses. A graph that is only half updated is
// of no use to anyone, so an error drops it.
bool GraphExecutor::update(Entry& entry, const Transfer& transfer) {
  try {
    for (std::size_t i = 0; i < transfer.plan->nodes.size(); ++i) {
      const CopyNode& node = transfer.plan->nodes[i];
      const CopyRequest copy = bind(machine_, transfer, node, ring_base(transfer, node));
      driver_.update_node(entry.graph, static_cast<int>(i), copy.destination, copy.source);
    }
  } catch (const Error&) {
    cache_.erase(transfer.plan->structure);
    throw;
  }
  entry.destination = transfer.destination;
  entry.source = transfer.source;
  return true;
}

void GraphExecutor::run(const Transfer& transfer) {
  const Entry* entry = cache_.find(transfer.plan->structure);
  if (entry == nullptr)
    fail(ErrorCode::internal, "the graph is not prepared", "run() follows prepare()");
  driver_.record(forked_.on(transfer.stream_gpu), transfer.stream);
  const auto& paths = transfer.plan->shape.paths;
  for (const PathShape& part : paths) {
    if (!part.path.staged()) continue;
    const StagingRing& ring = hops_.ring(part.path.first);
    if (ring.last.value != 0) driver_.wait(transfer.stream, ring.last);
  }
  driver_.launch(entry->graph, transfer.stream);
  for (const PathShape& part : paths) {
    if (!part.path.staged()) continue;
    StagingRing& ring = hops_.ring(part.path.first);
    const EventHandle last = ring.last_use.on(transfer.stream_gpu);
    driver_.record(last, transfer.stream);
    driver_.wait(hops_.stream(part.path.first).stream, last);
    ring.last = last;
  }
}

}  // namespace polypath
