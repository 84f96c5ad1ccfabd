#include "collective/algorithms/node_ranks.h"

#include <algorithm>

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

}  // namespace polypath::collective
