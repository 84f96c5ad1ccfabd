#include "model/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace polypath {
namespace {

bool in_range(int number, std::size_t size) {
  return number >= 0 && static_cast<std::size_t>(number) < size;
}

// Plans are written by it again and again: it must be quick.
class StructureWriter {
 public:
  template <class Number>
  StructureWriter& add(Number number) {
    text_ += fmt::format_int(number).c_str();
    return *this;
  }
  StructureWriter& add(char sign) {
    text_ += sign;
    return *this;
  }
  template <class Number>
  StructureWriter& add(char sign, Number number) {
    return add(sign).add(number);
  }
  StructureWriter& add_slice(char sign, const Program& program, const Slice& slice) {
    const ProgramBuffer& buffer = program.buffer(slice);
    if (buffer.is_scratch()) add(sign).add('s', buffer.filled_over.value).add('.', buffer.slot);
    else add(sign, slice.buffer);
    return add('+', slice.offset.value);
  }

  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

int Program::add(ProgramBuffer buffer) {
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
  states_.push_back({});
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
  QueueState& state = states_[static_cast<std::size_t>(node.queue)];
  node.starts_queue = node.queue != kCallersQueue && state.last < 0 && node.edges == 0;
  note_use(node.destination, node.queue, true);
  note_use(node.source, node.queue, false);
  state.last = static_cast<int>(nodes_.size());
  ++state.nodes;
  nodes_.push_back(node);
  return state.last;
}

void Program::note_use(const Slice& slice, int queue, bool fills) {
  const ProgramBuffer& used = buffer(slice);
  if (!used.is_scratch()) return;
  Ring& ring = rings_[static_cast<std::size_t>(used.ring)];
  int& user = fills ? ring.filler : ring.reader;
  ring.several |= user >= 0 && user != queue;
  user = queue;
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
  for (std::size_t queue = 0; queue < states_.size(); ++queue)
    states_[queue].events = static_cast<int>(busy_until[queue].size());
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
  StructureWriter writer;
  for (const Node& node : program.nodes()) {
    writer.add(node.queue);
    if (node.operation == Operation::copy) writer.add('c', node.hop.value);
    else
      writer.add('r', static_cast<int>(node.reduction.operation))
          .add('.', static_cast<int>(node.reduction.type));
    writer.add_slice(':', program, node.source).add_slice('>', program, node.destination);
    writer.add('*', node.bytes.value);
    for (const int earlier : program.after(node)) writer.add('<', earlier);
    writer.add(';');
  }
  return std::move(writer).text();
}

}  // namespace polypath
