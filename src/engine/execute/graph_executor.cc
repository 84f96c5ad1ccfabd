#include "engine/execute/graph_executor.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "engine/execute/binding.h"

namespace polypath::engine {

GraphExecutor::GraphExecutor(Driver& driver, Hops& hops, const Settings& settings,
                             Statistics& statistics)
    : driver_(driver),
      hops_(hops),
      statistics_(statistics),
      most_(static_cast<std::size_t>(settings.graph_cache)),
      cache_(most_, [this](Entry& entry) { destroy(entry.graph); }) {}

GraphExecutor::~GraphExecutor() { cache_.clear(); }

void GraphExecutor::destroy(GraphHandle graph) noexcept {
  ignore_errors([&] { driver_.destroy_graph(graph); });
}

void GraphExecutor::prepare(const Transfer& transfer) {
  for (const Ring& ring : transfer.program->rings()) {
    (void)hops_.stream(transfer.program->queues()[static_cast<std::size_t>(ring.filler)]);
    (void)hops_.ring(*transfer.program, ring).last_use.on(transfer.stream_gpu);
  }
  Entry* entry = find(transfer);
  if (entry == nullptr) return add(transfer);
  if (std::ranges::equal(entry->buffers, transfer.buffers)) ++statistics_.graph_hits;
  else if (update(*entry, transfer)) ++statistics_.graph_updates;
}

// One with other kernels or flags is of no use any more: it is of a program that runs no more.
GraphExecutor::Entry* GraphExecutor::find(const Transfer& transfer) {
  Entry* entry = cache_.find(transfer.structure);
  if (entry == nullptr || (std::ranges::equal(entry->kernels, transfer.kernels) &&
                           (entry->flags.empty() || entry->flags == flags_of(transfer))))
    return entry;
  cache_.erase(std::string(transfer.structure));
  return nullptr;
}

void GraphExecutor::add(const Transfer& transfer) {
  Entry entry{.graph = instantiate(transfer),
              .buffers = {transfer.buffers.begin(), transfer.buffers.end()},
              .kernels = {transfer.kernels.begin(), transfer.kernels.end()},
              .flags = flags_of(transfer)};
  const std::size_t evicted = cache_.evictions();
  cache_.insert(std::string(transfer.structure), std::move(entry));
  statistics_.graph_evictions += cache_.evictions() - evicted;
  ++statistics_.graph_instantiations;
}

// Besides the nodes that it names, a node comes after the one before it in its queue.
GraphHandle GraphExecutor::instantiate(const Transfer& transfer) {
  const Program& program = *transfer.program;
  const Binding bound(hops_, transfer);
  std::vector<GraphNode> nodes;
  std::vector<int> last(program.queues().size(), -1);
  for (const Node& node : program.nodes()) {
    const auto named = program.after(node);
    std::vector<int> after(named.begin(), named.end());
    int& before = last[static_cast<std::size_t>(node.queue)];
    if (before >= 0) after.push_back(before);
    before = static_cast<int>(nodes.size());
    nodes.push_back(bound.graph_node_of(node, std::move(after)));
  }
  return driver_.instantiate(nodes);
}

// Gives the nodes that touch the buffers their new addresses. A graph that is only half updated is
// of no use to anyone, so an error drops it.
bool GraphExecutor::update(Entry& entry, const Transfer& transfer) {
  const Binding bound(hops_, transfer);
  const int nodes = static_cast<int>(transfer.program->nodes().size());
  try {
    for (int number = 0; number < nodes; ++number) update_node(entry.graph, bound, number);
  } catch (const Error&) {
    cache_.erase(std::string(transfer.structure));
    throw;
  }
  entry.buffers.assign(transfer.buffers.begin(), transfer.buffers.end());
  return true;
}

// By the caller's buffers, which have all flags.
std::vector<Address> GraphExecutor::flags_of(const Transfer& transfer) {
  std::vector<Address> flags;
  for (const Node& node : transfer.program->nodes())
    if (is_flag(node.operation))
      flags.push_back(transfer.buffers[static_cast<std::size_t>(node.destination.buffer)] +
                      node.destination.offset);
  return flags;
}

void GraphExecutor::update_node(GraphHandle graph, const Binding& bound, int number) {
  const Node& node = bound.program().node(number);
  if (is_flag(node.operation)) return;
  if (node.operation != Operation::kernel) {
    const CopyRequest request = bound.request_of(node);
    return driver_.update_node(graph, number, request.destination, request.source);
  }
  std::vector<Address> memory;
  for (const KernelMemory& each : bound.kernel_of(node).memory) memory.push_back(each.address);
  driver_.update_kernel(graph, number, memory);
}

void GraphExecutor::run(const Transfer& transfer) {
  const Entry* entry = cache_.find(transfer.structure);
  if (entry == nullptr)
    fail(ErrorCode::internal, "the graph is not prepared", "run() follows prepare()");
  const Binding bound(hops_, transfer);
  const auto& rings = transfer.program->rings();
  for (const Ring& ring : rings)
    if (const EventHandle last = bound.ring(ring).last; !ring.kept && last.value != 0)
      driver_.wait(transfer.stream, last);
  driver_.launch(entry->graph, transfer.stream);
  for (const Ring& ring : rings) {
    if (ring.kept) continue;
    StagingRing& used = bound.ring(ring);
    const EventHandle last = used.last_use.on(transfer.stream_gpu);
    driver_.record(last, transfer.stream);
    driver_.wait(bound.stream(ring.filler), last);
    used.last = last;
  }
}

}  // namespace polypath::engine
