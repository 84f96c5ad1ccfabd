#include "collective/rank/own_copies.h"

namespace polypath::collective {

void OwnCopies::copy_of_root(const CollectiveCall& call, StreamHandle stream) {
  if (!has_root(call.collective) || rank_ != call.root) return;
  if (call.collective == Collective::broadcast && call.output.value == 0) return;
  copy_within(call.input, call.output, bytes_of(call.reduction.type) * call.elements, stream);
}

void OwnCopies::copy_at_home(const CollectiveCall& call, const CollectiveRequest& request,
                             StreamHandle stream) {
  if (has_root(request.collective)) return copy_of_root(call, stream);
  copy_within(call.input + block_sent(request, rank_, rank_).offset,
              call.output + block_received(request, rank_, rank_).offset,
              request.block(rank_, rank_), stream);
}

void OwnCopies::copy_within(Address from, Address to, Bytes bytes, StreamHandle stream) {
  if (bytes.value == 0 || from == to) return;
  driver_.copy_native({.destination = to,
                       .source = from,
                       .bytes = bytes,
                       .destination_place = gpu_,
                       .source_place = gpu_},
                      stream);
}

}  // namespace polypath::collective
