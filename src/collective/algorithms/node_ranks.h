#pragma once
// The ranks of several nodes, and the common part of the stages of the algorithm `nodes`
// (nodes.cc). Internal to src/collective.

#include <map>
#include <optional>
#include <vector>

#include "collective/algorithms/algorithm.h"
#include "collective/algorithms/fold.h"

namespace polypath::collective {

/// Ranks by node, in their order; the nodes in that of their first ranks.
std::vector<std::vector<int>> ranks_by_node(const Machine& machine,
                                            const CollectiveRequest& request);
inline bool ranks_on_one_node(const Machine& machine, const CollectiveRequest& request) {
  return ranks_by_node(machine, request).size() == 1;
}
/// True if there are several nodes, with as many ranks each.
bool nodes_are_alike(const Machine& machine, const CollectiveRequest& request);

/// True if all copies from others of these ranks to the first one use a resource that two fill.
bool share_a_way_in(const Machine& machine, const CollectiveRequest& request,
                    const std::vector<int>& ranks);

void compose_all_gather_of_nodes(Composer& composer);
void compose_broadcast_of_nodes(Composer& composer);
void compose_reduce_of_nodes(Composer& composer);

/// The common part of composers with stages within nodes and between them.
class NodeStages {
 public:
  explicit NodeStages(Composer& composer)
      : composer_(composer),
        ranks_(ranks_by_node(composer.machine(), composer.request())),
        nodes_(static_cast<int>(ranks_.size())),
        local_(static_cast<int>(ranks_.front().size())),
        in_rounds_(share_a_way_in(composer.machine(), composer.request(), ranks_.front())) {}

 protected:
  [[nodiscard]] int rank(int node, int local) const {
    return ranks_[static_cast<std::size_t>(node % nodes_)][static_cast<std::size_t>(local)];
  }
  [[nodiscard]] bool in_place() const { return composer_.request().in_place; }
  // As of `flat`: a rank's own values are in its output before others arrive.
  [[nodiscard]] bool keeps_own() const { return in_place() || composer_.tuning().private_memory; }

  // Messages by how many ranks of its node the receiver is ahead: in this order each rank is sent
  // to by one at a time. Where ranks share no way in they are all of one round, in that of the
  // receivers.
  using Rounds = std::map<int, std::vector<Message>>;
  void send(Rounds rounds) const {
    std::vector<Message> messages;
    for (auto& [ahead, round] : rounds) messages.insert(messages.end(), round.begin(), round.end());
    composer_.send(std::move(messages));
  }

  // The round of a message from one rank of a node to another.
  [[nodiscard]] int ahead(int from, int to) const {
    return in_rounds_ ? (to - from + local_) % local_ : 0;
  }

  // Ranks of one node send `part` of their inputs to rank `local` of it, which reduces them in
  // their order: in `result`, if there is one, else in any place with room. The sends are added to
  // `rounds`; the reductions to make after them are returned.
  std::vector<Operand> collect(int node, int local, const Part& part, std::optional<Slice> result,
                               Rounds& rounds) {
    std::vector<Operand> operands;
    const int to = rank(node, local);
    bool in_result = result && !keeps_own();
    for (int other = 0; other < local_; ++other) {
      const int from = rank(node, other);
      if (from == to) {
        const bool kept = result && keeps_own();
        operands.push_back({kept ? *result : composer_.input(to, part.offset), kept});
        continue;
      }
      const Slice at = in_result ? *result : composer_.slot(from, to, part.bytes);
      in_result = false;
      rounds[ahead(other, local)].push_back({composer_.input(from, part.offset), at, part.bytes});
      operands.push_back({at, true});
    }
    return operands;
  }

  // By node, where its sum is that a rank has been sent; all may change.
  using Sums = std::map<int, Slice>;
  // Of one of them for each rank, that of rank `local` of a node.
  Sums& sums_of(std::vector<Sums>& sums, int node, int local) const {
    return sums[static_cast<std::size_t>(rank(node, local))];
  }
  // In the order of the nodes, in `result`, which is one of them.
  void add_up(const Sums& sums, Bytes bytes, Slice result) const {
    std::vector<Operand> operands;
    for (const auto& [node, at] : sums) operands.push_back({at, true});
    fold(composer_, operands, bytes, result);
  }

  Composer& composer_;
  std::vector<std::vector<int>> ranks_;
  int nodes_;
  int local_;
  bool in_rounds_;
};

}  // namespace polypath::collective
