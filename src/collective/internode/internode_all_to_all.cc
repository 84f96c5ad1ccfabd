// Each rank sends each other rank its own elements, among nodes: c_ij·E elements from rank i to
// rank j. Each rank sends to ranks of other nodes in as many pieces as the busiest rank needs; the
// ranks of a node exchange theirs separately.

#include <fmt/format.h>

#include <algorithm>

#include "collective/internode/internode_schedule.h"
#include "core/error.h"

namespace polypath::collective {
namespace {

Address at(Address memory, Bytes offset) {
  return memory.value == 0 ? memory : memory + offset;  // a rank without elements has no memory
}

class AllToAllAmongNodes final : public InternodeSchedule {
 public:
  AllToAllAmongNodes(NodeRank& rank, const CollectiveCall& call, StreamHandle stream,
                     StreamHandle network)
      : InternodeSchedule(rank, call, stream, network),
        all_{.collective = call.collective,
             .ranks = std::vector<PlaceId>(static_cast<std::size_t>(rank.size())),
             .elements = call.elements,
             .reduction = call.reduction,
             .in_place = call.in_place,
             .counts = call.counts},
        pieces_(collective::pieces_of(busiest(), rank.piece(), element())) {
    check_order();
  }

  [[nodiscard]] int pieces() const override { return pieces_; }

  void before(int piece) override {
    if (piece > 0) return;
    const int own = rank_.rank(), first = rank_.rank_at(rank_.node(), 0);
    const Part given = block_sent(all_, own, first), taken = block_received(all_, first, own);
    const Address from = at(call_.input, given.offset), to = at(call_.output, taken.offset);
    if (!rank_.inside()) return copy(to, from, given.bytes);
    const auto counts = counts_in_node();
    if (!counts.empty() && std::all_of(counts.begin(), counts.end(), [](auto c) { return c == 0; }))
      return;
    inside({.collective = call_.collective,
            .elements = call_.elements,
            .input = from,
            .output = to,
            .counts = counts,
            .in_place = call_.in_place});
  }

  NodeMessages first(int piece) override {
    NodeMessages messages;
    for (int other = 0; other < rank_.size(); ++other) {
      if (rank_.node_of(other) == rank_.node()) continue;
      const Part given = cut(block_sent(all_, rank_.rank(), other), piece);
      const Part taken = cut(block_received(all_, other, rank_.rank()), piece);
      messages.given.push_back({{other}, at(call_.input, given.offset), given.bytes});
      messages.taken.push_back({other, at(call_.output, taken.offset), taken.bytes});
    }
    return messages;
  }

 private:
  [[nodiscard]] Part cut(const Part& block, int piece) const {
    return part_of(block, piece, pieces_, element());
  }

  // The most that a rank gives to other nodes, or gets from them.
  [[nodiscard]] Bytes busiest() const {
    Bytes most;
    for (int rank = 0; rank < rank_.size(); ++rank) {
      Bytes given, taken;
      for (int other = 0; other < rank_.size(); ++other) {
        if (rank_.node_of(other) == rank_.node_of(rank)) continue;
        given += all_.block(rank, other);
        taken += all_.block(other, rank);
      }
      most = std::max({most, given, taken});
    }
    return most;
  }

  [[nodiscard]] std::vector<std::uint64_t> counts_in_node() const {
    std::vector<std::uint64_t> counts;
    if (call_.counts.empty()) return counts;
    const auto size = static_cast<std::size_t>(rank_.size());
    for (const int from : rank_.node_ranks())
      for (const int to : rank_.node_ranks())
        counts.push_back(
            call_.counts[static_cast<std::size_t>(from) * size + static_cast<std::size_t>(to)]);
    return counts;
  }

  // The elements that ranks of a node send each other lie side by side only then.
  void check_order() const {
    const int first = rank_.rank_at(rank_.node(), 0);
    for (int local = 0; local < rank_.locals(); ++local)
      if (rank_.rank_at(rank_.node(), local) != first + local)
        fail(ErrorCode::unsupported,
             fmt::format("{} among nodes whose ranks take turns", name_of(call_.collective)),
             fmt::format("node {} has rank {}, and its next one is {}", rank_.node(),
                         first + local - 1, rank_.rank_at(rank_.node(), local)),
             "Number the ranks node by node.");
  }

  CollectiveRequest all_;  ///< without places
  int pieces_;
};

}  // namespace

std::unique_ptr<InternodeSchedule> internode_all_to_all(NodeRank& rank, const CollectiveCall& call,
                                                        StreamHandle stream, StreamHandle network) {
  return std::make_unique<AllToAllAmongNodes>(rank, call, stream, network);
}

}  // namespace polypath::collective
