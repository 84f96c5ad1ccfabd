#include "engine/binding.h"

#include "core/error.h"

namespace polypath {

Binding::Binding(Hops& hops, const Transfer& transfer) : transfer_(&transfer) {
  queues_.reserve(program().queues().size());
  queues_.push_back(nullptr);
  for (std::size_t queue = 1; queue < program().queues().size(); ++queue)
    queues_.push_back(&hops.stream(program().queues()[queue]));
  rings_.reserve(program().rings().size());
  for (const Ring& ring : program().rings()) rings_.push_back(&hops.ring(ring.filled_over));
}

StreamHandle Binding::stream(int number) const {
  return number == Program::kCallersQueue ? transfer_->stream : queue(number).stream;
}

Address Binding::address_of(const Slice& slice, Bytes bytes) const {
  const ProgramBuffer& buffer = program().buffer(slice);
  if (!buffer.is_scratch())
    return transfer_->buffers[static_cast<std::size_t>(slice.buffer)] + slice.offset;
  const StagingRing& used = ring(static_cast<std::size_t>(buffer.ring));
  if (slice.offset + bytes > used.slot_bytes)
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
  return request;
}

std::optional<Reduction> reduction_of(const Node& node) {
  if (node.operation == Operation::copy) return std::nullopt;
  return node.reduction;
}

}  // namespace polypath
