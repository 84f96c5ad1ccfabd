#include "engine/graph_executor.h"

#include <algorithm>

#include "core/error.h"
#include "engine/binding.h"

namespace polypath {

GraphExecutor::GraphExecutor(Driver& driver, Hops& hops, const Settings& settings,
                             Statistics& statistics)
    : driver_(driver),
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
  for (const Ring& ring : transfer.program->rings()) {
    (void)hops_.stream(transfer.program->queues()[static_cast<std::size_t>(ring.filler)]);
    (void)hops_.ring(ring.filled_over).last_use.on(transfer.stream_gpu);
  }
  const std::string structure(transfer.structure);
  Entry* entry = cache_.find(structure);
  if (entry == nullptr) {
    const GraphHandle graph = instantiate(transfer);
    const std::size_t evicted = cache_.evictions();
    cache_.insert(structure, {graph, {transfer.buffers.begin(), transfer.buffers.end()}});
    statistics_.graph_evictions += cache_.evictions() - evicted;
    ++statistics_.graph_instantiations;
    return;
  }
  if (std::equal(entry->buffers.begin(), entry->buffers.end(), transfer.buffers.begin(),
                 transfer.buffers.end())) {
    ++statistics_.graph_hits;
    return;
  }
  if (update(*entry, transfer)) ++statistics_.graph_updates;
}

// Besides the nodes that it names, a node comes after the one before it in its queue.
GraphHandle GraphExecutor::instantiate(const Transfer& transfer) {
  const Program& program = *transfer.program;
  const Binding bound(hops_, transfer);
  std::vector<GraphNode> nodes;
  std::vector<int> last(program.queues().size(), -1);
  for (const Node& node : program.nodes()) {
    const auto after = program.after(node);
    GraphNode added{bound.request_of(node), {after.begin(), after.end()}, reduction_of(node)};
    int& before = last[static_cast<std::size_t>(node.queue)];
    if (before >= 0) added.after.push_back(before);
    before = static_cast<int>(nodes.size());
    nodes.push_back(std::move(added));
  }
  return driver_.instantiate(nodes);
}

// Gives the nodes that touch the buffers their new addresses. A graph that is only half updated is
// of no use to anyone, so an error drops it.
bool GraphExecutor::update(Entry& entry, const Transfer& transfer) {
  const Binding bound(hops_, transfer);
  int number = 0;
  try {
    for (const Node& node : transfer.program->nodes()) {
      const CopyRequest request = bound.request_of(node);
      driver_.update_node(entry.graph, number++, request.destination, request.source);
    }
  } catch (const Error&) {
    cache_.erase(std::string(transfer.structure));
    throw;
  }
  entry.buffers.assign(transfer.buffers.begin(), transfer.buffers.end());
  return true;
}

void GraphExecutor::run(const Transfer& transfer) {
  const Entry* entry = cache_.find(std::string(transfer.structure));
  if (entry == nullptr)
    fail(ErrorCode::internal, "the graph is not prepared", "run() follows prepare()");
  const Binding bound(hops_, transfer);
  const auto& rings = transfer.program->rings();
  driver_.record(forked_.on(transfer.stream_gpu), transfer.stream);
  for (const Ring& ring : rings)
    if (const EventHandle last = bound.ring(ring).last; last.value != 0)
      driver_.wait(transfer.stream, last);
  driver_.launch(entry->graph, transfer.stream);
  for (const Ring& ring : rings) {
    StagingRing& used = bound.ring(ring);
    const EventHandle last = used.last_use.on(transfer.stream_gpu);
    driver_.record(last, transfer.stream);
    driver_.wait(bound.stream(ring.filler), last);
    used.last = last;
  }
}

}  // namespace polypath
