#include "engine/execute/binding.h"

#include <span>
#include <utility>

#include "core/error.h"

namespace polypath::engine {

Binding::Binding(Hops& hops, const Transfer& transfer) : transfer_(&transfer) {
  const auto others = std::span(program().queues()).subspan(1);
  queues_.reserve(others.size());
  for (const Queue& queue : others) queues_.push_back(&hops.stream(queue));
  rings_.reserve(program().rings().size());
  for (const Ring& ring : program().rings()) rings_.push_back(&hops.ring(program(), ring));
}

StreamHandle Binding::stream(int number) const {
  return number == Program::kCallersQueue ? transfer_->stream : queue(number).stream;
}

Address Binding::address_of(const Slice& slice, Bytes bytes) const {
  const ProgramBuffer& buffer = program().buffer(slice);
  if (!buffer.is_scratch())
    return transfer_->buffers[static_cast<std::size_t>(slice.buffer)] + slice.offset;
  const StagingRing& used = ring(static_cast<std::size_t>(buffer.ring));
  if (slice.offset + bytes > used.slot_bytes * static_cast<std::uint64_t>(buffer.slots))
    fail(ErrorCode::internal, "a program reaches beyond a staging slot",
         "it was made for larger ones");
  return used.slot(buffer.slot) + slice.offset;
}

CopyRequest Binding::request_of(const Node& node) const {
  CopyRequest request;
  request.source = address_of(node.source, node.bytes);
  request.source_place = program().buffer(node.source).place;
  request.destination = address_of(node.destination, node.bytes);
  request.destination_place = program().buffer(node.destination).place;
  request.bytes = node.bytes;
  request.label = {transfer_->id, node.path, node.chunk};
  request.pulled = node.hop.pulled;
  return request;
}

KernelRequest Binding::kernel_of(const Node& node) const {
  const KernelCall& call = program().call_of(node);
  const auto kernel = static_cast<std::size_t>(call.kernel);
  if (kernel >= transfer_->kernels.size())
    fail(ErrorCode::internal, "a program calls a kernel that is not there",
         "its runner supplies the kernels");
  KernelRequest request{.kernel = transfer_->kernels[kernel],
                        .gpu = call.gpu,
                        .memory = {},
                        .values = call.values,
                        .shape = call.shape,
                        .duration = call.duration,
                        .label = {transfer_->id, node.path, node.chunk},
                        .group = call.group};
  request.memory.reserve(call.memory.size());
  for (const Access& access : call.memory)
    request.memory.push_back({.address = address_of(access.slice, access.bytes),
                              .place = program().buffer(access.slice).place,
                              .bytes = access.bytes,
                              .writes = access.writes,
                              .moved = access.moved});
  return request;
}

FlagRequest Binding::flag_of(const Node& node) const {
  FlagRequest flag{.address = address_of(node.destination, kFlagBytes),
                   .place = program().buffer(node.destination).place,
                   .gpu = program().buffer(node.source).place,
                   .value = 1};
  if (node.operation == Operation::await) flag.waits = true, flag.then = 0;
  flag.before_kernels = node.queue == Program::kCallersQueue && program().reduces();
  return flag;
}

GraphNode Binding::graph_node_of(const Node& node, std::vector<int> after) const {
  switch (node.operation) {
    case Operation::kernel:
      return {.copy = {}, .after = std::move(after), .kernel = kernel_of(node)};
    case Operation::reduce:
      return {.copy = request_of(node), .after = std::move(after), .reduction = node.reduction};
    case Operation::signal:
    case Operation::await: return {.copy = {}, .after = std::move(after), .flag = flag_of(node)};
    case Operation::copy: break;
  }
  return {.copy = request_of(node), .after = std::move(after)};
}

}  // namespace polypath::engine
