#include "collective/algorithms/groups.h"

namespace polypath::collective {
namespace {

bool is_peer(const Machine& machine, PlaceId source, PlaceId destination) {
  const auto hop = machine.find_hop(source, destination);
  return hop && machine.hop(*hop).kind == HopKind::peer;
}

bool are_close(const Machine& machine, PlaceId a, PlaceId b) {
  return machine.place(a).numa_node == machine.place(b).numa_node && is_peer(machine, a, b) &&
         is_peer(machine, b, a);
}

}  // namespace

std::vector<std::vector<int>> groups_of(const Machine& machine, const std::vector<PlaceId>& ranks) {
  std::vector<std::vector<int>> groups;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::vector<int>* group = nullptr;
    for (auto& each : groups)
      if (are_close(machine, ranks[static_cast<std::size_t>(each.front())], ranks[rank])) {
        group = &each;
        break;
      }
    if (group == nullptr) group = &groups.emplace_back();
    group->push_back(static_cast<int>(rank));
  }
  return groups;
}

}  // namespace polypath::collective
