// All-reduce among nodes. With m ranks in each of N nodes, rank (t, j) has part j of its node's
// sum, a reduce-scatter in the node, adds it up with those of (0, j), (1, j), …, and all ranks of a
// node gather the parts. A rank sends, and receives, of its part p to other nodes:
//
//   N = 2    p             each node adds all of it up
//   N > 2    2(N−1)/N·p    each node adds up a share of it, and then gives that to the others
//
// Fewer than m elements that are left over, all ranks of the node reduce, and go with the parts of
// the last piece: from every rank, as if they were its own.

#include "collective/internode/internode_schedule.h"

namespace polypath::collective {
namespace {

class AllReduceAmongNodes final : public InternodeSchedule {
 public:
  AllReduceAmongNodes(NodeRank& rank, const CollectiveCall& call, StreamHandle stream,
                      StreamHandle network)
      : InternodeSchedule(rank, call, stream, network),
        locals_(static_cast<std::uint64_t>(rank.locals())),
        part_{{}, element() * (call.elements / locals_)},
        rest_(element() * (call.elements % locals_)),
        pieces_(collective::pieces_of(part_.bytes, rank.piece(), element())) {}

  [[nodiscard]] int pieces() const override { return pieces_; }

  void before(int piece) override {
    const Part part = part_of(part_, piece, pieces_, element());
    const Address at = work(piece);
    if (!rank_.inside()) return copy(at, call_.input + part.offset, part.bytes);
    if (part.bytes.value > 0)
      inside({.collective = Collective::reduce_scatter,
              .elements = elements_of(part),
              .input = call_.input + part.offset * locals_,
              .output = at});
    if (rest_of(piece).value > 0)
      inside({.collective = Collective::all_reduce,
              .elements = rest_.value / element().value,
              .input = call_.input + part_.bytes * locals_,
              .output = at + part.bytes});
  }

  NodeMessages first(int piece) override {
    NodeMessages messages;
    const Bytes own = share(piece, rank_.node()).bytes;
    Address at = rank_.arrived();
    if (is_whole()) messages.given.push_back({rank_.rail_peers(), work(piece), own});
    for (const int other : rank_.rail_peers()) {
      const Part theirs = share(piece, rank_.node_of(other));
      if (!is_whole())
        messages.given.push_back({{other}, work(piece) + theirs.offset, theirs.bytes});
      messages.taken.push_back({other, at, own});
      at = at + own;
    }
    return messages;
  }

  void reduce(int piece) override {
    const Part own = share(piece, rank_.node());
    rank_.reduce(work(piece) + own.offset, own.bytes, call_.reduction, network_);
  }

  [[nodiscard]] bool has_second() const override { return !is_whole(); }

  NodeMessages second(int piece) override {
    NodeMessages messages;
    const Part own = share(piece, rank_.node());
    messages.given.push_back({rank_.rail_peers(), work(piece) + own.offset, own.bytes});
    for (const int other : rank_.rail_peers()) {
      const Part theirs = share(piece, rank_.node_of(other));
      messages.taken.push_back({other, work(piece) + theirs.offset, theirs.bytes});
    }
    return messages;
  }

  void after(int piece) override {
    if (!rank_.inside()) return;
    const Part part = part_of(part_, piece, pieces_, element());
    if (part.bytes.value > 0)
      inside({.collective = Collective::all_gather,
              .elements = elements_of(part),
              .input = work(piece),
              .output = call_.output + part.offset * locals_});
    copy(call_.output + part_.bytes * locals_, work(piece) + part.bytes, rest_of(piece));
  }

 private:
  [[nodiscard]] bool is_whole() const { return rank_.nodes() == 2; }
  [[nodiscard]] std::uint64_t elements_of(const Part& part) const {
    return part.bytes.value / element().value;
  }
  [[nodiscard]] Bytes rest_of(int piece) const { return piece + 1 == pieces_ ? rest_ : Bytes{}; }
  // A rank alone in its node needs no memory of its own for it.
  [[nodiscard]] Address work(int piece) const {
    if (rank_.inside()) return rank_.work(piece);
    return call_.output + part_of(part_, piece, pieces_, element()).offset;
  }
  // The part of a piece that a node adds up.
  [[nodiscard]] Part share(int piece, int node) const {
    const Part all{{}, part_of(part_, piece, pieces_, element()).bytes + rest_of(piece)};
    return is_whole() ? all : part_of(all, node, rank_.nodes(), element());
  }

  std::uint64_t locals_;
  Part part_;   ///< of each rank of the node
  Bytes rest_;  ///< the remainder
  int pieces_;
};

}  // namespace

std::unique_ptr<InternodeSchedule> internode_all_reduce(NodeRank& rank, const CollectiveCall& call,
                                                        StreamHandle stream, StreamHandle network) {
  return std::make_unique<AllReduceAmongNodes>(rank, call, stream, network);
}

}  // namespace polypath::collective
