#include "model/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace polypath::model {
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

  StructureWriter& add_operation(const Program& program, const Node& node) {
    switch (node.operation) {
      case Operation::copy: add(node.hop.pulled ? 'p' : 'c', node.hop.value); break;
      case Operation::reduce:
        add('r', static_cast<int>(node.reduction.operation));
        add('.', static_cast<int>(node.reduction.type));
        add('/', node.reduction.values);
        add('<', node.reduction.into), add('+', node.reduction.from);
        break;
      case Operation::kernel: return add_call(program, program.call_of(node));
      case Operation::signal: return add('!').add_slice('>', program, node.destination);
      case Operation::await: return add('?').add_slice(':', program, node.destination);
    }
    add_slice(':', program, node.source).add_slice('>', program, node.destination);
    return add('*', node.bytes.value);
  }

  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  StructureWriter& add_call(const Program& program, const KernelCall& call) {
    add('k', call.kernel).add('@', call.gpu.value);
    add('x', call.shape.blocks).add('x', call.shape.threads_per_block);
    for (const Access& access : call.memory)
      add_slice(access.writes ? '>' : ':', program, access.slice).add('*', access.bytes.value);
    for (const std::uint64_t value : call.values) add('=', value);
    if (call.group) add('&', call.group->number).add('&', call.group->laps);
    return *this;
  }

  std::string text_;
};

}  // namespace

int Program::add(ProgramBuffer buffer) {
  if (buffer.is_scratch()) {
    const auto ring = std::find_if(rings_.begin(), rings_.end(), [&](const Ring& each) {
      return each.filled_over == buffer.filled_over;
    });
    buffer.ring = static_cast<int>(ring - rings_.begin());
    if (ring == rings_.end())
      rings_.push_back({.filled_over = buffer.filled_over, .kept = buffer.kept});
  }
  buffers_.push_back(buffer);
  return static_cast<int>(buffers_.size()) - 1;
}

int Program::add(const Queue& queue) {
  queues_.push_back(queue);
  states_.push_back({});
  return static_cast<int>(queues_.size()) - 1;
}

bool Program::has_memory_of(const Node& node) const {
  const auto is_there = [&](const Slice& slice) { return in_range(slice.buffer, buffers_.size()); };
  if (node.operation != Operation::kernel)
    return is_there(node.source) && is_there(node.destination);
  const auto& memory = call_of(node).memory;
  return std::all_of(memory.begin(), memory.end(),
                     [&](const Access& access) { return is_there(access.slice); });
}

void Program::check(const Node& node, std::span<const int> after) const {
  const bool known = in_range(node.queue, queues_.size()) && has_memory_of(node);
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
  note_uses(node);
  reduces_ = reduces_ || node.operation == Operation::reduce;
  state.last = static_cast<int>(nodes_.size());
  ++state.nodes;
  nodes_.push_back(node);
  return state.last;
}

int Program::add(KernelCall call, int queue, std::span<const int> after) {
  Node node;
  node.operation = Operation::kernel;
  node.queue = queue;
  node.path = call.path;
  node.call = static_cast<int>(calls_.size());
  reduces_ = reduces_ || call.reduces;
  for (const Access& access : call.memory) node.bytes += access.bytes;
  calls_.push_back(std::move(call));
  return add(node, after);
}

void Program::note_uses(const Node& node) {
  if (node.operation != Operation::kernel) {
    note_use(node.destination, node.queue, true);
    note_use(node.source, node.queue, false);
    return;
  }
  for (const Access& access : call_of(node).memory)
    note_use(access.slice, node.queue, access.writes);
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

Node flag_node(Operation operation, int queue, const Slice& flag, int here) {
  Node node;
  node.operation = operation;
  node.queue = queue;
  node.source = {here, {}}, node.destination = flag;
  node.bytes = kFlagBytes;
  return node;
}

Queue queue_of(const Machine& machine, HopId hop) { return {hop, machine.executing_gpu(hop)}; }

PlaceId working_gpu(const Machine& machine, const Program& program, const Node& node) {
  if (node.operation == Operation::kernel) return program.call_of(node).gpu;
  if (node.hop.valid()) return machine.executing_gpu(node.hop);
  return program.buffer(is_flag(node.operation) ? node.source : node.destination).place;
}

Seconds wait_latency(const Machine& machine, const Program& program, const Node& earlier,
                     PlaceId gpu) {
  return earlier.hop.valid() ? machine.wait_latency(earlier.hop, gpu)
                             : machine.wait_latency(working_gpu(machine, program, earlier), gpu);
}

std::string structure_of(const Program& program) {
  StructureWriter writer;
  for (const Node& node : program.nodes()) {
    writer.add(node.queue).add_operation(program, node);
    for (const int earlier : program.after(node)) writer.add('<', earlier);
    writer.add(';');
  }
  return std::move(writer).text();
}

}  // namespace polypath::model
