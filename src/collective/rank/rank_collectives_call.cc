// What a rank calls: what its calls have in common with others, and the memory that they use.

#include <fmt/format.h>

#include <algorithm>

#include "collective/rank/rank_collectives.h"
#include "core/error.h"
#include "core/hash.h"

namespace polypath {
namespace {

bool averages(const CollectiveCall& call) {
  return reduces(call.collective) && call.reduction.operation == ReduceOperator::average;
}

std::uint64_t digest_of(std::initializer_list<std::vector<std::uint64_t>> numbers) {
  Hash hash;
  for (const auto& each : numbers) hash.add(each.data(), each.size() * sizeof(std::uint64_t));
  return hash.value();
}

}  // namespace

bool RankCollectives::is_in_place(const CollectiveCall& call) const {
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
bool RankCollectives::is_in_place_at_all(const CollectiveCall& call) const {
  if (!plans_alone_ || has_root(call.collective)) return is_in_place(call);
  return call.collective == Collective::all_to_all_v && call.in_place;
}

RankCollectives::Kind RankCollectives::kind_of(const CollectiveCall& call) const {
  return {.collective = call.collective,
          .type = call.reduction.type,
          .operation = reduces(call.collective) ? call.reduction.operation : ReduceOperator::sum,
          .averaged = averages(call) ? std::max(call.reduction.values, size()) : 0,
          .root = has_root(call.collective) ? call.root : 0,
          .elements = call.elements,
          .in_place = call.elements > 0 && is_in_place_at_all(call),
          .counts = call.collective == Collective::all_to_all_v ? call.counts
                                                                : std::vector<std::uint64_t>{},
          .pitch = call.pitch,
          .sent_at = call.sent_at,
          .received_at = call.received_at};
}

CollectiveRequest RankCollectives::request_of(const Kind& kind) const {
  return {.collective = kind.collective,
          .ranks = ranks_,
          .elements = kind.elements,
          .reduction = {kind.operation, kind.type, kind.averaged},
          .root = kind.root,
          .in_place = kind.in_place,
          .counts = kind.counts,
          .pitch = kind.pitch,
          .sent_at = kind.sent_at,
          .received_at = kind.received_at};
}

CallRecord RankCollectives::record_of(const Kind& kind) const {
  return {.operation = name_of(kind.collective),
          .type = name_of(kind.type),
          .reduction = reduces(kind.collective) ? name_of(kind.operation) : "",
          .count = std::max(kind.elements, kind.pitch),
          .digest = digest_of({kind.counts, kind.sent_at, kind.received_at}),
          .root = has_root(kind.collective) ? kind.root : -1,
          .in_place = kind.in_place ? 1 : 0};
}

// The ranks' inputs and then their outputs, or their one memory each; of others nothing is known.
std::vector<Address> RankCollectives::buffers_of(const CollectiveCall& call,
                                                 const Kind& kind) const {
  const auto own = static_cast<std::size_t>(rank());
  std::vector<Address> buffers(ranks_.size() * (kind.in_place ? 1 : 2));
  const bool gives = call.collective == Collective::reduce_scatter ||
                     (call.collective == Collective::reduce && rank() != call.root) ||
                     (call.collective == Collective::broadcast && rank() == call.root);
  buffers[own] = kind.in_place && !gives ? call.output : call.input;
  if (!kind.in_place) buffers[ranks_.size() + own] = call.output;
  return buffers;
}

// Programs with a root are made for one memory of each rank: what the root gives is where it gets
// the result, and the other way round.
void RankCollectives::copy_own(const CollectiveCall& call, StreamHandle stream) {
  if (!has_root(call.collective) || rank() != call.root) return;
  if (call.collective == Collective::broadcast && call.output.value == 0) return;
  copy_within(call.input, call.output, bytes_of(call.reduction.type) * call.elements, stream);
}

bool RankCollectives::stays_at_home(const CollectiveCall& call) const {
  return polypath::stays_at_home(request_of(kind_of(call)));
}

// What a rank has for itself; of one rank that is all it has.
std::uint64_t RankCollectives::copy_at_home(const CollectiveCall& call, const Kind& kind,
                                            StreamHandle stream, bool captured) {
  if (kind.elements == 0) return 0;
  const CollectiveRequest request = request_of(kind);
  if (has_root(kind.collective)) copy_own(call, stream);
  else
    copy_within(call.input + block_sent(request, rank(), rank()).offset,
                call.output + block_received(request, rank(), rank()).offset,
                request.block(rank(), rank()), stream);
  return captured ? 0 : run_->note(stream);
}

void RankCollectives::copy_within(Address from, Address to, Bytes bytes, StreamHandle stream) {
  if (bytes.value == 0 || from == to) return;
  driver_.copy_native({.destination = to,
                       .source = from,
                       .bytes = bytes,
                       .destination_place = gpu_,
                       .source_place = gpu_},
                      stream);
}

void RankCollectives::check_memory(const CollectiveCall& call, const Kind& kind) const {
  const bool is_root = rank() == call.root;
  bool needs_input = call.collective != Collective::broadcast || is_root;
  bool needs_output =
      !has_root(call.collective) || (call.collective == Collective::reduce) == is_root;
  if (call.elements == 0) return;
  if (call.collective == Collective::all_to_all_v) {
    const CollectiveRequest request = request_of(kind);
    needs_input = input_bytes(request, rank()).value > 0;
    needs_output = output_bytes(request, rank()).value > 0;
  }
  if ((!needs_input || call.input.value != 0) && (!needs_output || call.output.value != 0)) return;
  fail(ErrorCode::invalid_argument, fmt::format("{} without memory", name_of(call.collective)),
       "the address of the input or the output is 0", "Pass memory of this rank's GPU.");
}

}  // namespace polypath
