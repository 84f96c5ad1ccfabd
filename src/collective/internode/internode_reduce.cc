// Calls that give a rank the sum of all ranks' values, among nodes: in each node one rank gets its
// node's sum, and sends it to the rank that shall have it. A rank sends (N−1)·E elements to other
// nodes for a reduce-scatter of parts of E, and E for a reduce of E if it is a rail peer of the
// root.

#include "collective/internode/internode_schedule.h"

namespace polypath::collective {
namespace {

// A piece of the parts of all ranks is packed by local rank and then by node: that of rank (t, j)
// is number j·N + t, so that (s, j) gets the node's sums for all (t, j) side by side.
class ReduceScatterAmongNodes final : public InternodeSchedule {
 public:
  ReduceScatterAmongNodes(NodeRank& rank, const CollectiveCall& call, StreamHandle stream,
                          StreamHandle network)
      : InternodeSchedule(rank, call, stream, network), pieces_(pieces_of_whole(rank.size())) {}

  [[nodiscard]] int pieces() const override { return pieces_; }

  void before(int piece) override {
    const Part part = piece_of(piece, pieces_);
    const int nodes = rank_.nodes();
    const Address packed = rank_.inside() ? rank_.gathered(piece) : rank_.work(piece);
    for (int local = 0; local < rank_.locals(); ++local)
      for (int node = 0; node < nodes; ++node) {
        const auto of = static_cast<std::uint64_t>(rank_.rank_at(node, local));
        copy(part_for(packed, part, local * nodes + node),
             call_.input + whole().bytes * of + part.offset, part.bytes);
      }
    if (!rank_.inside()) return;
    inside({.collective = Collective::reduce_scatter,
            .elements = part.bytes.value / element().value * static_cast<std::uint64_t>(nodes),
            .input = packed,
            .output = rank_.work(piece)});
  }

  NodeMessages first(int piece) override {
    const Part part = piece_of(piece, pieces_);
    NodeMessages messages;
    Address at = rank_.arrived();
    for (const int other : rank_.rail_peers()) {
      messages.given.push_back(
          {{other}, part_for(rank_.work(piece), part, rank_.node_of(other)), part.bytes});
      messages.taken.push_back({other, at, part.bytes});
      at = at + part.bytes;
    }
    return messages;
  }

  void reduce(int piece) override {
    const Part part = piece_of(piece, pieces_);
    rank_.reduce(own(piece, part), part.bytes, call_.reduction, network_);
  }

  void after(int piece) override {
    const Part part = piece_of(piece, pieces_);
    copy(call_.output + part.offset, own(piece, part), part.bytes);
  }

 private:
  static Address part_for(Address memory, const Part& part, int number) {
    return memory + part.bytes * static_cast<std::uint64_t>(number);
  }
  [[nodiscard]] Address own(int piece, const Part& part) const {
    return part_for(rank_.work(piece), part, rank_.node());
  }

  int pieces_;
};

class ReduceAmongNodes final : public InternodeSchedule {
 public:
  ReduceAmongNodes(NodeRank& rank, const CollectiveCall& call, StreamHandle stream,
                   StreamHandle network)
      : InternodeSchedule(rank, call, stream, network), pieces_(pieces_of_whole(rank.nodes())) {}

  [[nodiscard]] int pieces() const override { return pieces_; }

  void before(int piece) override {
    const Part part = piece_of(piece, pieces_);
    if (!rank_.inside()) return copy(rank_.work(piece), call_.input + part.offset, part.bytes);
    inside({.collective = Collective::reduce,
            .root = rank_.local_of(call_.root),
            .elements = part.bytes.value / element().value,
            .input = call_.input + part.offset,
            .output = rank_.work(piece)});
  }

  NodeMessages first(int piece) override {
    const Bytes bytes = piece_of(piece, pieces_).bytes;
    NodeMessages messages;
    Address at = rank_.arrived();
    if (is_root())
      for (const int other : rank_.rail_peers()) {
        messages.taken.push_back({other, at, bytes});
        at = at + bytes;
      }
    else if (rank_.local() == rank_.local_of(call_.root))
      messages.given.push_back({{call_.root}, rank_.work(piece), bytes});
    return messages;
  }

  void reduce(int piece) override {
    if (is_root())
      rank_.reduce(rank_.work(piece), piece_of(piece, pieces_).bytes, call_.reduction, network_);
  }

  void after(int piece) override {
    const Part part = piece_of(piece, pieces_);
    if (is_root()) copy(call_.output + part.offset, rank_.work(piece), part.bytes);
  }

 private:
  [[nodiscard]] bool is_root() const { return rank_.rank() == call_.root; }

  int pieces_;
};

}  // namespace

std::unique_ptr<InternodeSchedule> internode_reduce_scatter(NodeRank& rank,
                                                            const CollectiveCall& call,
                                                            StreamHandle stream,
                                                            StreamHandle network) {
  return std::make_unique<ReduceScatterAmongNodes>(rank, call, stream, network);
}

std::unique_ptr<InternodeSchedule> internode_reduce(NodeRank& rank, const CollectiveCall& call,
                                                    StreamHandle stream, StreamHandle network) {
  return std::make_unique<ReduceAmongNodes>(rank, call, stream, network);
}

}  // namespace polypath::collective
