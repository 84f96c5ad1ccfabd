#include "collective/algorithms/host_parts.h"

#include <algorithm>

namespace polypath::collective {

HostParts::HostParts(const CollectiveRequest& request, int pieces)
    : request_(request), pieces_(pieces) {
  for (int rank = 0; rank < request.size(); ++rank)
    if (has_part(rank)) owners_.push_back(rank);
}

Bytes HostParts::most_written(const CollectiveRequest& request) {
  const auto ranks = static_cast<std::uint64_t>(request.size());
  if (request.collective == Collective::reduce_scatter) return request.part() * ranks;
  if (request.collective == Collective::reduce) return {request.part().value / (ranks - 1) * ranks};
  if (request.collective != Collective::all_to_all &&
      request.collective != Collective::all_to_all_v)
    return request.part();
  Bytes most;
  for (int from = 0; from < request.size(); ++from)
    for (int to = 0; to < request.size(); ++to) most = std::max(most, request.block(from, to));
  return most * ranks;
}

bool HostParts::is_scattered() const {
  return !is(Collective::all_gather) && !is(Collective::broadcast);
}

bool HostParts::is_published() const {
  return is(Collective::all_reduce) || is(Collective::reduce) || !is_scattered();
}

bool HostParts::has_output(int rank) const {
  return !is(Collective::reduce) || rank == request_.root;
}

// A root that others reduce for has no part in that, unless the only other rank would.
bool HostParts::has_part(int rank) const {
  if (is(Collective::broadcast)) return rank == request_.root;
  if (is(Collective::reduce)) return (rank == request_.root) == (request_.size() == 2);
  return true;
}

bool HostParts::is_by_rank() const {
  return is(Collective::reduce_scatter) || is(Collective::all_gather);
}

Part HostParts::piece_of(const Part& part, int piece) const {
  return part_of(part, piece, pieces_, request_.element());
}

Bytes HostParts::start_of(int rank) const { return request_.start_of(rank); }

Part HostParts::part(int rank, int piece) const {
  const Part own = piece_of({{}, request_.part()}, piece);
  if (is_by_rank()) return {start_of(rank) + own.offset, own.bytes};
  const auto owner = std::find(owners_.begin(), owners_.end(), rank);
  if (owner == owners_.end()) return {};
  return part_of(own, static_cast<int>(owner - owners_.begin()), static_cast<int>(owners_.size()),
                 request_.element());
}

Bytes HostParts::in_input(int rank, int piece) const {
  const Bytes offset = part(rank, piece).offset;
  return is(Collective::all_gather) ? offset - start_of(rank) : offset;
}

Bytes HostParts::in_output(int rank, int piece) const {
  const Bytes offset = part(rank, piece).offset;
  return is(Collective::reduce_scatter) ? offset - start_of(rank) : offset;
}

Part HostParts::sent(int from, int to, int piece) const {
  if (reduces(request_.collective)) return part(to, piece);
  return piece_of(block_sent(request_, from, to), piece);
}

Part HostParts::received(int from, int to, int piece) const {
  return piece_of(block_received(request_, from, to), piece);
}

std::optional<HostParts::Kept> HostParts::kept(int rank) const {
  if (reduces(request_.collective)) return std::nullopt;
  if (is(Collective::all_gather)) return Kept{{}, start_of(rank), request_.part()};
  if (is(Collective::broadcast))
    return rank == request_.root ? std::optional(Kept{{}, {}, request_.part()}) : std::nullopt;
  const Part block = block_sent(request_, rank, rank);
  return Kept{block.offset, block_received(request_, rank, rank).offset, block.bytes};
}

bool reaches_through_host(const Machine& machine, const CollectiveRequest& request) {
  for (const PlaceId from : request.ranks) {
    const PlaceId host = machine.nearest_host(from);
    if (!host.valid() || !machine.find_hop(from, host)) return false;
    for (const PlaceId to : request.ranks)
      if (!machine.find_hop(host, to)) return false;
  }
  return true;
}

}  // namespace polypath::collective
