// A rank's calls: the part that they share with other calls, and the memory that they use.

#include <algorithm>

#include "collective/rank/checked_call.h"
#include "collective/rank/node_collectives.h"

namespace polypath {
namespace {

bool averages(const CollectiveCall& call) {
  return reduces(call.collective) && call.reduction.operation == ReduceOperator::average;
}

}  // namespace

bool NodeCollectives::is_in_place(const CollectiveCall& call) const {
  const Bytes own = bytes_of(call.reduction.type) * std::max(call.elements, call.pitch) *
                    static_cast<std::uint64_t>(rank());
  switch (call.collective) {
    case Collective::all_gather: return call.input == call.output + own;
    case Collective::reduce_scatter: return call.output == call.input + own;
    case Collective::reduce:
    case Collective::broadcast: return true;  // copy_own() sees to it
    case Collective::all_to_all_v: return call.in_place;
    case Collective::all_reduce:
    case Collective::all_to_all: break;
  }
  return call.input == call.output;
}

// A rank that plans by itself does not know of the others. Kernels take one memory for two.
bool NodeCollectives::is_in_place_at_all(const CollectiveCall& call) const {
  if (!programs_->plans_alone() || has_root(call.collective)) return is_in_place(call);
  return call.collective == Collective::all_to_all_v && call.in_place;
}

// Of an average as many values as ranks at least; of others their number means nothing.
CollectiveRequest NodeCollectives::kind_of(const CollectiveCall& call) const {
  CollectiveRequest kind = polypath::request_of(call);
  kind.reduction.values = averages(call) ? std::max(call.reduction.values, size()) : 0;
  kind.in_place = call.elements > 0 && is_in_place_at_all(call);
  return kind;
}

// The ranks' inputs and then their outputs, or their one memory each; of others nothing is known.
std::vector<Address> NodeCollectives::buffers_of(const CollectiveCall& call,
                                                 const CollectiveRequest& kind) const {
  const auto own = static_cast<std::size_t>(rank());
  std::vector<Address> buffers(ranks_.size() * (kind.in_place ? 1 : 2));
  const bool gives = call.collective == Collective::reduce_scatter ||
                     (call.collective == Collective::reduce && rank() != call.root) ||
                     (call.collective == Collective::broadcast && rank() == call.root);
  buffers[own] = kind.in_place && !gives ? call.output : call.input;
  if (!kind.in_place) buffers[ranks_.size() + own] = call.output;
  return buffers;
}

// Programs with a root are made for one memory of each rank: the root's input is also where it gets
// the result, and the other way round.
void NodeCollectives::copy_own(const CollectiveCall& call, StreamHandle stream) {
  if (!has_root(call.collective) || rank() != call.root) return;
  if (call.collective == Collective::broadcast && call.output.value == 0) return;
  copy_within(call.input, call.output, bytes_of(call.reduction.type) * call.elements, stream);
}

bool NodeCollectives::stays_at_home(const CollectiveCall& call) const {
  return polypath::stays_at_home(programs_->request_of(kind_of(call)));
}

// Copies a rank's elements for itself; with a single rank that is all.
std::uint64_t NodeCollectives::copy_at_home(const CollectiveCall& call,
                                            const CollectiveRequest& kind, StreamHandle stream,
                                            bool captured) {
  if (kind.elements == 0) return 0;
  const CollectiveRequest request = programs_->request_of(kind);
  if (has_root(kind.collective)) copy_own(call, stream);
  else
    copy_within(call.input + block_sent(request, rank(), rank()).offset,
                call.output + block_received(request, rank(), rank()).offset,
                request.block(rank(), rank()), stream);
  return captured ? 0 : run_->note(stream);
}

void NodeCollectives::copy_within(Address from, Address to, Bytes bytes, StreamHandle stream) {
  if (bytes.value == 0 || from == to) return;
  driver_.copy_native({.destination = to,
                       .source = from,
                       .bytes = bytes,
                       .destination_place = gpu_,
                       .source_place = gpu_},
                      stream);
}

}  // namespace polypath
