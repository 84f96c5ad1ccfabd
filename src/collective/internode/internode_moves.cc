// Calls that give all ranks the same bytes, among nodes. N nodes of m ranks; a rank has E elements.
//
//   all_gather   rail peers send each other theirs, E; then the ranks of a node gather all
//   broadcast    the root sends them to its rail peers, E each; each spreads them in its node

#include "collective/internode/internode_schedule.h"

namespace polypath::collective {
namespace {

// A piece of N·m blocks is gathered by local rank and then by node: rank (t, j) is number j·N + t.
class AllGatherAmongNodes final : public InternodeSchedule {
 public:
  AllGatherAmongNodes(NodeRank& rank, const CollectiveCall& call, StreamHandle stream,
                      StreamHandle network)
      : InternodeSchedule(rank, call, stream, network), pieces_(pieces_of_whole(rank.size())) {}

  [[nodiscard]] int pieces() const override { return pieces_; }

  void before(int piece) override {
    const Part part = piece_of(piece, pieces_);
    copy(block_in(rank_.work(piece), part, rank_.node()), call_.input + part.offset, part.bytes);
  }

  NodeMessages first(int piece) override {
    const Part part = piece_of(piece, pieces_);
    const Address work = rank_.work(piece);
    NodeMessages messages;
    messages.given.push_back({rank_.rail_peers(), block_in(work, part, rank_.node()), part.bytes});
    for (const int other : rank_.rail_peers())
      messages.taken.push_back({other, block_in(work, part, rank_.node_of(other)), part.bytes});
    return messages;
  }

  void after(int piece) override {
    const Part part = piece_of(piece, pieces_);
    const int nodes = rank_.nodes();
    Address gathered = rank_.work(piece);
    if (rank_.inside()) {
      gathered = rank_.gathered(piece);
      inside({.collective = Collective::all_gather,
              .elements = part.bytes.value / element().value * static_cast<std::uint64_t>(nodes),
              .input = rank_.work(piece),
              .output = gathered});
    }
    for (int local = 0; local < rank_.locals(); ++local)
      for (int node = 0; node < nodes; ++node) {
        const auto of = static_cast<std::uint64_t>(rank_.rank_at(node, local));
        copy(call_.output + whole().bytes * of + part.offset,
             block_in(gathered, part, local * nodes + node), part.bytes);
      }
  }

 private:
  static Address block_in(Address memory, const Part& part, int number) {
    return memory + part.bytes * static_cast<std::uint64_t>(number);
  }

  int pieces_;
};

class BroadcastAmongNodes final : public InternodeSchedule {
 public:
  BroadcastAmongNodes(NodeRank& rank, const CollectiveCall& call, StreamHandle stream,
                      StreamHandle network)
      : InternodeSchedule(rank, call, stream, network), pieces_(pieces_of_whole(1)) {}

  [[nodiscard]] int pieces() const override { return pieces_; }

  NodeMessages first(int piece) override {
    const Part part = piece_of(piece, pieces_);
    NodeMessages messages;
    if (is_root())
      messages.given.push_back({rank_.rail_peers(), call_.input + part.offset, part.bytes});
    else if (rank_.local() == rank_.local_of(call_.root))
      messages.taken.push_back({call_.root, call_.output + part.offset, part.bytes});
    return messages;
  }

  void after(int piece) override {
    const Part part = piece_of(piece, pieces_);
    const Address output = call_.output.value == 0 ? Address{} : call_.output + part.offset;
    const Address given = is_root() ? call_.input + part.offset : output;
    if (rank_.inside())
      inside({.collective = Collective::broadcast,
              .root = rank_.local_of(call_.root),
              .elements = part.bytes.value / element().value,
              .input = given,
              .output = output});
    else if (output.value != 0) copy(output, given, part.bytes);
  }

 private:
  [[nodiscard]] bool is_root() const { return rank_.rank() == call_.root; }

  int pieces_;
};

}  // namespace

std::unique_ptr<InternodeSchedule> internode_all_gather(NodeRank& rank, const CollectiveCall& call,
                                                        StreamHandle stream, StreamHandle network) {
  return std::make_unique<AllGatherAmongNodes>(rank, call, stream, network);
}

std::unique_ptr<InternodeSchedule> internode_broadcast(NodeRank& rank, const CollectiveCall& call,
                                                       StreamHandle stream, StreamHandle network) {
  return std::make_unique<BroadcastAmongNodes>(rank, call, stream, network);
}

}  // namespace polypath::collective
