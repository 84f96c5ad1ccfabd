#include "collective/algorithms/fixed_order.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "collective/algorithms/node_ranks.h"
#include "collective/program/mail.h"
#include "collective/trees/index_of.h"
#include "machine/hop_table.h"

namespace polypath::collective {
namespace {

// Chosen between links of two kinds, as of `mist`, 2.05 times as fast within a socket, and the per
// cents by which links of one kind differ.
constexpr double kFarSlower = 1.5;

// Which pairs of ranks use a resource by their direct copies, either way.
class SharedResources {
 public:
  SharedResources(const Machine& machine, const std::vector<PlaceId>& ranks)
      : hops_(machine), ranks_(ranks), pairs_(machine.resources.size()) {
    for (int from = 0; from < size(); ++from)
      for (int to = 0; to < size(); ++to)
        if (from != to) note(from, to);
  }

  // True if copies between them are by peer access and stand in no other pair's way.
  [[nodiscard]] bool are_close(int one, int other) const {
    return is_own(one, other) && is_own(other, one);
  }
  // The rate of one copy; 0 without a hop.
  [[nodiscard]] double rate(int from, int to) const {
    const Hop* copied = hop(from, to);
    return copied == nullptr ? 0 : copied->bandwidth.value;
  }
  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }

 private:
  [[nodiscard]] const Hop* hop(int from, int to) const {
    const auto found = hops_.find(ranks_[index_of(from)], ranks_[index_of(to)]);
    return found ? &hops_.machine().hop(*found) : nullptr;
  }
  void note(int from, int to) {
    if (const Hop* copied = hop(from, to))
      for (const Use& use : copied->uses) pairs_[use.resource.index()].emplace_back(from, to);
  }
  [[nodiscard]] bool is_own(int from, int to) const {
    const Hop* copied = hop(from, to);
    if (copied == nullptr || copied->kind != HopKind::peer) return false;
    return std::ranges::all_of(copied->uses, [&](const Use& use) {
      return std::ranges::all_of(pairs_[use.resource.index()], [&](const auto& pair) {
        return pair.first == from || pair.first == to || pair.second == from || pair.second == to;
      });
    });
  }

  HopTable hops_;
  const std::vector<PlaceId>& ranks_;
  std::vector<std::vector<std::pair<int, int>>> pairs_;  // by resource
};

// True if some copy between groups is far slower than all within one.
bool are_far_apart(const SharedResources& links, const std::vector<std::vector<int>>& groups) {
  std::vector<std::size_t> group_of(index_of(links.size()));
  for (std::size_t number = 0; number < groups.size(); ++number)
    for (const int rank : groups[number]) group_of[index_of(rank)] = number;
  double within = std::numeric_limits<double>::infinity(), between = within;
  for (int from = 0; from < links.size(); ++from)
    for (int to = 0; to < links.size(); ++to) {
      const bool together = group_of[index_of(from)] == group_of[index_of(to)];
      double& least = together ? within : between;
      if (from != to) least = std::min(least, links.rate(from, to));
    }
  return between * kFarSlower < within;
}

std::vector<std::vector<int>> close_ranks(const SharedResources& links) {
  std::vector<std::vector<int>> groups;
  for (int rank = 0; rank < links.size(); ++rank) {
    const auto group = std::ranges::find_if(groups, [&](const auto& members) {
      return std::ranges::all_of(members, [&](int each) { return links.are_close(each, rank); });
    });
    if (group != groups.end()) group->push_back(rank);
    else groups.push_back({rank});
  }
  return groups;
}

std::vector<int> all_ranks(const CollectiveRequest& request) {
  std::vector<int> ranks(request.ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

std::vector<std::vector<int>> order_groups(const Machine& machine,
                                           const CollectiveRequest& request) {
  auto nodes = ranks_by_node(machine, request);
  if (nodes_are_alike(machine, request)) return nodes;
  if (nodes.size() > 1 || can_mail(machine, request.ranks, {})) return {all_ranks(request)};
  const SharedResources links(machine, request.ranks);
  std::vector<std::vector<int>> groups = close_ranks(links);
  if (groups.size() == request.ranks.size() || !are_far_apart(links, groups))
    return {all_ranks(request)};
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

}  // namespace polypath::collective
