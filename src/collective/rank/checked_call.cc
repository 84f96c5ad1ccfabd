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

void check_memory(const CollectiveCall& call, int ranks, int rank) {
  const Needed needs = needed(call, ranks, rank);
  if ((!needs.input || call.input.value != 0) && (!needs.output || call.output.value != 0)) return;
  fail(ErrorCode::invalid_argument, fmt::format("{} without memory", name_of(call.collective)),
       "the address of the input or the output is 0", "Pass memory of this rank's GPU.");
}

}  // namespace polypath::collective
