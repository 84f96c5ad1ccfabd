#include "collective/algorithms/node_ranks.h"

#include <algorithm>

#include "collective/trees/index_of.h"

namespace polypath::collective {

std::vector<std::vector<int>> ranks_by_node(const Machine& machine,
                                            const CollectiveRequest& request) {
  std::map<int, std::size_t> numbers;
  std::vector<std::vector<int>> nodes;
  for (int rank = 0; rank < request.size(); ++rank) {
    const int node = machine.place(request.ranks[static_cast<std::size_t>(rank)]).node;
    const auto [found, is_new] = numbers.try_emplace(node, nodes.size());
    if (is_new) nodes.emplace_back();
    nodes[found->second].push_back(rank);
  }
  return nodes;
}

bool nodes_are_alike(const Machine& machine, const CollectiveRequest& request) {
  const auto nodes = ranks_by_node(machine, request);
  return nodes.size() > 1 && std::all_of(nodes.begin(), nodes.end(), [&](const auto& node) {
           return node.size() == nodes.front().size();
         });
}

bool share_a_way_in(const Machine& machine, const CollectiveRequest& request,
                    const std::vector<int>& ranks) {
  const auto place = [&](int rank) { return request.ranks[index_of(rank)]; };
  std::vector<const Hop*> hops;
  for (const int from : ranks)
    if (const auto hop = machine.find_hop(place(from), place(ranks.front())); hop)
      hops.push_back(&machine.hop(*hop));
  if (hops.size() < 2) return false;
  const double slowest = std::ranges::min_element(hops, {}, &Hop::bandwidth)[0]->bandwidth.value;
  return std::ranges::any_of(hops.front()->uses, [&](const Use& shared) {
    if (machine.resource(shared.resource).capacity.value >= 2 * slowest) return false;
    return std::ranges::all_of(hops, [&](const Hop* each) {
      return std::ranges::find(each->uses, shared.resource, &Use::resource) != each->uses.end();
    });
  });
}

}  // namespace polypath::collective
