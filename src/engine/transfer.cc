#include "engine/transfer.h"

namespace polypath {

CopyRequest bind(const Machine& machine, const Transfer& transfer, const CopyNode& node,
                 Address ring_base) {
  const Hop& hop = machine.hop(node.hop);
  const auto slots_before = static_cast<std::uint64_t>(node.slot < 0 ? 0 : node.slot);
  const Address slot = ring_base + transfer.plan->slot_bytes * slots_before;
  CopyRequest request;
  request.source = node.from == End::slot ? slot : transfer.source + node.offset;
  request.source_place = hop.source;
  request.destination = node.to == End::slot ? slot : transfer.destination + node.offset;
  request.destination_place = hop.destination;
  request.bytes = node.bytes;
  request.label = {transfer.id, node.path, node.chunk};
  return request;
}

}  // namespace polypath
