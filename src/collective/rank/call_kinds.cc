#include "collective/rank/call_kinds.h"

#include <algorithm>

#include "collective/division/rounds.h"
#include "collective/rank/checked_call.h"

namespace polypath::collective {
namespace {

bool averages(const CollectiveCall& call) {
  return reduces(call.collective) && call.reduction.operation == ReduceOperator::average;
}

}  // namespace

bool CallKinds::is_in_place(const CollectiveCall& call) const {
  const Bytes own = bytes_of(call.reduction.type) * std::max(call.elements, call.pitch) *
                    static_cast<std::uint64_t>(rank_);
  switch (call.collective) {
    case Collective::all_gather: return call.input == call.output + own;
    case Collective::reduce_scatter: return call.output == call.input + own;
    case Collective::reduce:
    case Collective::broadcast: return true;  // OwnCopies sees to it
    case Collective::all_to_all_v: return call.in_place;
    case Collective::all_reduce:
    case Collective::all_to_all: break;
  }
  return call.input == call.output;
}

// A rank that plans by itself does not know of the others. Kernels take one memory for two.
bool CallKinds::is_in_place_at_all(const CollectiveCall& call) const {
  if (!programs_.plans_alone() || has_root(call.collective)) return is_in_place(call);
  return call.collective == Collective::all_to_all_v && call.in_place;
}

// Of an average as many values as ranks at least; of others their number means nothing.
CollectiveRequest CallKinds::of(const CollectiveCall& call) const {
  CollectiveRequest kind = collective::request_of(call);
  kind.reduction.values = averages(call) ? std::max(call.reduction.values, ranks_) : 0;
  kind.in_place = call.elements > 0 && is_in_place_at_all(call);
  return kind;
}

std::vector<Address> CallKinds::buffers_of(const CollectiveCall& call,
                                           const CollectiveRequest& kind) const {
  const auto own = static_cast<std::size_t>(rank_);
  const auto ranks = static_cast<std::size_t>(ranks_);
  std::vector<Address> buffers(ranks * (kind.in_place ? 1 : 2));
  const bool gives = call.collective == Collective::reduce_scatter ||
                     (call.collective == Collective::reduce && rank_ != call.root) ||
                     (call.collective == Collective::broadcast && rank_ == call.root);
  buffers[own] = kind.in_place && !gives ? call.output : call.input;
  if (!kind.in_place) buffers[ranks + own] = call.output;
  return buffers;
}

bool CallKinds::stays_at_home(const CollectiveCall& call) const {
  return collective::stays_at_home(programs_.request_of(of(call)));
}

std::vector<CollectiveCall> CallKinds::rounds(const CollectiveCall& call,
                                              const CollectiveRequest& kind) const {
  return rounds_of(call, programs_.request_of(kind), programs_.options().at_once);
}

}  // namespace polypath::collective
