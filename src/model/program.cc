#include "model/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/error.h"

namespace polypath {
namespace {

bool in_range(int number, std::size_t size) {
  return number >= 0 && static_cast<std::size_t>(number) < size;
}

}  // namespace

int Program::add(Buffer buffer) {
  if (buffer.is_scratch()) {
    const auto ring = std::find_if(rings_.begin(), rings_.end(), [&](const Ring& each) {
      return each.filled_over == buffer.filled_over;
    });
    buffer.ring = static_cast<int>(ring - rings_.begin());
    if (ring == rings_.end()) rings_.push_back({buffer.filled_over});
  }
  buffers_.push_back(buffer);
  return static_cast<int>(buffers_.size()) - 1;
}

int Program::add(const Queue& queue) {
  queues_.push_back(queue);
  last_.push_back(-1);
  counts_.push_back(0);
  return static_cast<int>(queues_.size()) - 1;
}

void Program::check(const Node& node, std::span<const int> after) const {
  const bool known = in_range(node.queue, queues_.size()) &&
                     in_range(node.source.buffer, buffers_.size()) &&
                     in_range(node.destination.buffer, buffers_.size());
  const bool earlier = std::all_of(after.begin(), after.end(),
                                   [&](int number) { return in_range(number, nodes_.size()); });
  if (known && earlier) return;
  fail(ErrorCode::internal, fmt::format("node {} cannot be added", nodes_.size()),
       known ? "it comes after a node that is not there" : "its queue or a buffer is not there");
}

int Program::add(Node node, std::span<const int> after) {
  check(node, after);
  node.first_edge = static_cast<std::uint32_t>(edges_.size());
  for (const int number : after) {
    Node& earlier = nodes_[static_cast<std::size_t>(number)];
    if (earlier.queue == node.queue) continue;
    earlier.awaited = true;
    edges_.push_back(number);
  }
  node.edges = static_cast<std::uint32_t>(edges_.size()) - node.first_edge;
  int& last = last_[static_cast<std::size_t>(node.queue)];
  node.starts_queue = node.queue != kCallersQueue && last < 0 && node.edges == 0;
  note_use(node.destination, node.queue, true);
  note_use(node.source, node.queue, false);
  last = static_cast<int>(nodes_.size());
  ++counts_[static_cast<std::size_t>(node.queue)];
  nodes_.push_back(node);
  return last;
}

void Program::note_use(const Slice& slice, int queue, bool fills) {
  const Buffer& used = buffer(slice);
  if (!used.is_scratch()) return;
  Ring& ring = rings_[static_cast<std::size_t>(used.ring)];
  int& user = fills ? ring.filler : ring.reader;
  ring.several |= user >= 0 && user != queue;
  user = queue;
}

int Program::events_of(int queue) const {
  return events_.empty() ? 0 : events_[static_cast<std::size_t>(queue)];
}

void Program::assign_events() {
  std::vector<int> last_waiter(nodes_.size(), -1);
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    for (const int earlier : after(nodes_[i]))
      last_waiter[static_cast<std::size_t>(earlier)] = static_cast<int>(i);
  std::vector<std::vector<int>> busy_until(queues_.size());  // per event, the node that waits last
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].awaited) continue;
    auto& events = busy_until[static_cast<std::size_t>(nodes_[i].queue)];
    const auto free = std::find_if(events.begin(), events.end(),
                                   [&](int waiter) { return waiter <= static_cast<int>(i); });
    nodes_[i].event = static_cast<int>(free - events.begin());
    if (free == events.end()) events.push_back(last_waiter[i]);
    else *free = last_waiter[i];
  }
  events_.clear();
  for (const auto& events : busy_until) events_.push_back(static_cast<int>(events.size()));
}

Queue queue_of(const Machine& machine, HopId hop) { return {hop, machine.executing_gpu(hop)}; }

PlaceId working_gpu(const Machine& machine, const Program& program, const Node& node) {
  return node.hop.valid() ? machine.executing_gpu(node.hop)
                          : program.buffer(node.destination).place;
}

Seconds wait_latency(const Machine& machine, const Program& program, const Node& earlier,
                     PlaceId gpu) {
  return earlier.hop.valid() ? machine.wait_latency(earlier.hop, gpu)
                             : machine.wait_latency(working_gpu(machine, program, earlier), gpu);
}

std::string structure_of(const Program& program) {
  std::string structure;
  const auto add_slice = [&](const Slice& slice) {
    const Buffer& buffer = program.buffer(slice);
    if (buffer.is_scratch())
      fmt::format_to(std::back_inserter(structure), "s{}.{}+{}", buffer.filled_over.value,
                     buffer.slot, slice.offset.value);
    else fmt::format_to(std::back_inserter(structure), "{}+{}", slice.buffer, slice.offset.value);
  };
  for (const Node& node : program.nodes()) {
    fmt::format_to(std::back_inserter(structure), "{}", node.queue);
    if (node.operation == Operation::copy)
      fmt::format_to(std::back_inserter(structure), "c{}:", node.hop.value);
    else
      fmt::format_to(std::back_inserter(structure),
                     "r{}.{}:", static_cast<int>(node.reduction.operation),
                     static_cast<int>(node.reduction.type));
    add_slice(node.source);
    structure += '>';
    add_slice(node.destination);
    fmt::format_to(std::back_inserter(structure), "*{}<{};", node.bytes.value,
                   fmt::join(program.after(node), ","));
  }
  return structure;
}

}  // namespace polypath
