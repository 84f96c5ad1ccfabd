#include "collective/algorithms/fixed_order.h"

#include <numeric>

#include "collective/algorithms/groups.h"
#include "collective/algorithms/node_ranks.h"
#include "collective/program/index_of.h"
#include "collective/program/mail.h"

namespace polypath {
namespace {

std::vector<int> all_ranks(const CollectiveRequest& request) {
  std::vector<int> ranks(request.ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

std::vector<std::vector<int>> order_groups(const Machine& machine,
                                           const CollectiveRequest& request) {
  const auto nodes = ranks_by_node(machine, request);
  const bool by_node = request.collective == Collective::all_reduce ||
                       request.collective == Collective::reduce_scatter;
  if (by_node && nodes_are_alike(machine, request)) return nodes;
  if (nodes.size() > 1 || can_mail(machine, request.ranks, {})) return {all_ranks(request)};
  std::vector<std::vector<int>> groups = groups_of(machine, request.ranks);
  if (groups.size() == request.ranks.size()) return {all_ranks(request)};
  return groups;
}

Slice fold_in_groups(Composer& composer, const std::vector<std::vector<int>>& groups,
                     const std::vector<Operand>& operands, Bytes bytes,
                     std::optional<Slice> result) {
  if (groups.size() == 1) return fold(composer, operands, bytes, result);
  std::vector<Operand> sums;
  for (const auto& group : groups) {
    std::vector<Operand> values;
    std::optional<Slice> place;
    for (const int rank : group) {
      values.push_back(operands[index_of(rank)]);
      const Slice at = values.back().at;
      if (result && at.buffer == result->buffer && at.offset == result->offset) place = result;
    }
    if (values.size() == 1) sums.push_back(values.front());
    else sums.push_back({fold(composer, values, bytes, place), true});
  }
  return fold(composer, sums, bytes, result);
}

}  // namespace polypath
