#include "collective/rank/checked_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/hash.h"

namespace polypath::collective {
namespace {

std::uint64_t digest_of(std::initializer_list<const std::vector<std::uint64_t>*> numbers) {
  Hash hash;
  for (const auto* each : numbers) hash.add(each->data(), each->size() * sizeof(std::uint64_t));
  return hash.value();
}

struct Needed {
  bool input;
  bool output;
};

Needed needed(const CollectiveCall& call, int ranks, int rank) {
  if (call.elements == 0) return {false, false};
  if (call.collective == Collective::all_to_all_v) {
    const CollectiveRequest request =
        request_of(call, std::vector<PlaceId>(static_cast<std::size_t>(ranks)));
    return {input_bytes(request, rank).value > 0, output_bytes(request, rank).value > 0};
  }
  const bool is_root = rank == call.root;
  return {call.collective != Collective::broadcast || is_root,
          !has_root(call.collective) || (call.collective == Collective::reduce) == is_root};
}

// How far the input, or its part that the rank keeps, is from the output of a call in place.
Bytes own_part_at(const CollectiveCall& call, int rank) {
  return bytes_of(call.reduction.type) * call.elements * static_cast<std::uint64_t>(rank);
}

bool is_in_place(const CollectiveCall& call, int rank) {
  if (call.collective == Collective::all_gather)
    return call.input == call.output + own_part_at(call, rank);
  if (call.collective == Collective::reduce_scatter)
    return call.output == call.input + own_part_at(call, rank);
  return call.input == call.output;
}

// Of a call with a root memory that the rank does not need may lie anywhere.
bool overlaps_itself(const CollectiveCall& call, int ranks, int rank) {
  const bool has_both = !has_root(call.collective) || rank == call.root;
  if (!has_both || call.input.value == 0 || call.output.value == 0 || is_in_place(call, rank))
    return false;
  const auto [input, output] = bytes_of_call(call, ranks, rank);
  return input.value > 0 && output.value > 0 && call.input < call.output + output &&
         call.output < call.input + input;
}

}  // namespace

CollectiveRequest request_of(const CollectiveCall& call, std::vector<PlaceId> ranks) {
  const bool has_counts = call.collective == Collective::all_to_all_v;
  return {.collective = call.collective,
          .ranks = std::move(ranks),
          .elements = call.elements,
          .reduction = {.operation = reduces(call.collective) ? call.reduction.operation
                                                              : ReduceOperator::sum,
                        .type = call.reduction.type,
                        .values = call.reduction.values},
          .root = has_root(call.collective) ? call.root : 0,
          .in_place = has_counts && call.in_place,
          .counts = has_counts ? call.counts : std::vector<std::uint64_t>{},
          .pitch = call.pitch,
          .sent_at = call.sent_at,
          .received_at = call.received_at};
}

CallRecord record_of(const CollectiveRequest& request) {
  return {.operation = name_of(request.collective),
          .type = name_of(request.reduction.type),
          .reduction = reduces(request.collective) ? name_of(request.reduction.operation) : "",
          .count = std::max(request.elements, request.pitch),
          .digest = digest_of({&request.counts, &request.sent_at, &request.received_at}),
          .root = has_root(request.collective) ? request.root : -1,
          .in_place = request.in_place ? 1 : 0};
}

// Nothing is allocated but for all_to_all_v: each call asks for it.
CallBytes bytes_of_call(const CollectiveCall& call, int ranks, int rank) {
  if (call.collective == Collective::all_to_all_v) {
    const CollectiveRequest request =
        request_of(call, std::vector<PlaceId>(static_cast<std::size_t>(ranks)));
    return {input_bytes(request, rank), output_bytes(request, rank)};
  }
  const Bytes part = bytes_of(call.reduction.type) * call.elements;
  const Bytes all = part * static_cast<std::uint64_t>(ranks);
  const bool exchanges = call.collective == Collective::all_to_all;
  const bool gathers = exchanges || call.collective == Collective::all_gather;
  const bool scatters = exchanges || call.collective == Collective::reduce_scatter;
  return {.input = scatters ? all : part, .output = gathers ? all : part};
}

void check_memory(const CollectiveCall& call, int ranks, int rank) {
  const Needed needs = needed(call, ranks, rank);
  if ((needs.input && call.input.value == 0) || (needs.output && call.output.value == 0))
    fail(ErrorCode::invalid_argument, fmt::format("{} without memory", name_of(call.collective)),
         "the address of the input or the output is 0", "Pass memory of this rank's GPU.");
  if (call.pitch == 0 && overlaps_itself(call, ranks, rank))
    fail(ErrorCode::invalid_argument,
         fmt::format("input and output of {} overlap", name_of(call.collective)),
         "the result would depend on the order of bytes", "Be in place, or write to other memory.");
}

}  // namespace polypath::collective
