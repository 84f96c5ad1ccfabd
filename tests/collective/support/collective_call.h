#pragma once
// One rank's call of a collective, on the memories of a test.

#include "collective/rank/node_collectives.h"
#include "collective/support/rank_buffers.h"
#include "support/layers.h"

namespace polypath::test {

/// In place where the request is: then input and output are parts of the rank's one memory, which
/// says so by itself but for all_to_all_v.
inline CollectiveCall call_of(const CollectiveRequest& request, const RankBuffers& buffers,
                              int rank) {
  const auto number = static_cast<std::size_t>(rank);
  const Bytes own = request.part() * static_cast<std::uint64_t>(rank);
  const Address memory = buffers.addresses()[number];
  CollectiveCall call{
      .collective = request.collective,
      .reduction = request.reduction,
      .root = request.root,
      .elements = request.elements,
      .input = memory,
      .output = memory,
      .counts = request.counts,
      .in_place = request.in_place && request.collective == Collective::all_to_all_v};
  if (!request.in_place) call.output = buffers.addresses()[number + request.ranks.size()];
  else if (request.collective == Collective::all_gather) call.input = memory + own;
  else if (request.collective == Collective::reduce_scatter) call.output = memory + own;
  return call;
}

}  // namespace polypath::test
