// Of several nodes with as many ranks each, for messages that latencies make long: the first rank
// of each node reduces the values of its node, these leaders send each other their sums, and each
// adds them up and gives the result to its node. Each node sends N−1 times the message, in one
// step; `nodes` sends 2(N−1)/N times the message, in two.

#include "collective/algorithms/node_ranks.h"

namespace polypath::collective {
namespace {

class Leaders : NodeStages {
 public:
  explicit Leaders(Composer& composer)
      : NodeStages(composer), pieces_(composer.pieces(composer.request().part())) {}

  void compose() {
    const Bytes whole = composer_.request().part();
    for (int node = 0; node < nodes_; ++node)
      if (local_ == 1 || keeps_own())
        composer_.copy(composer_.input(rank(node, 0)), composer_.output(rank(node, 0)), whole);
    const std::vector<std::function<void(int)>> steps = {
        [this](int piece) { reduce_in_nodes(piece_of(piece)); },
        [this](int piece) { reduce_among_leaders(piece_of(piece)); },
        [this](int piece) { give_in_nodes(piece_of(piece)); }};
    pipeline(pieces_, steps);
  }

 private:
  [[nodiscard]] Part piece_of(int piece) const {
    return composer_.piece({{}, composer_.request().part()}, piece, pieces_);
  }
  [[nodiscard]] Slice held_by(int node, const Part& piece) const {
    return composer_.output(rank(node, 0), piece.offset);
  }

  void reduce_in_nodes(const Part& piece) {
    if (local_ == 1) return;
    Rounds rounds;
    std::vector<std::vector<Operand>> operands;
    for (int node = 0; node < nodes_; ++node)
      operands.push_back(collect(node, 0, piece, held_by(node, piece), rounds));
    send(std::move(rounds));
    for (int node = 0; node < nodes_; ++node)
      fold(composer_, operands[static_cast<std::size_t>(node)], piece.bytes, held_by(node, piece));
  }

  void reduce_among_leaders(const Part& piece) {
    std::vector<Sums> sums(static_cast<std::size_t>(composer_.ranks()));
    std::vector<Message> messages;
    for (int distance = 0; distance < nodes_; ++distance)
      for (int node = 0; node < nodes_; ++node) {
        const int to = (node + distance) % nodes_;
        const Slice at = distance == 0 ? held_by(node, piece)
                                       : composer_.slot(rank(node, 0), rank(to, 0), piece.bytes);
        sums_of(sums, to, 0)[node] = at;
        if (distance > 0) messages.push_back({held_by(node, piece), at, piece.bytes});
      }
    composer_.send(std::move(messages));
    for (int node = 0; node < nodes_; ++node)
      add_up(sums_of(sums, node, 0), piece.bytes, held_by(node, piece));
  }

  void give_in_nodes(const Part& piece) {
    std::vector<Message> messages;
    for (int local = 1; local < local_; ++local)
      for (int node = 0; node < nodes_; ++node)
        messages.push_back(
            {held_by(node, piece), composer_.output(rank(node, local), piece.offset), piece.bytes});
    composer_.send(std::move(messages));
  }

  int pieces_;
};

}  // namespace

Algorithm leaders() {
  return {.name = "leaders",
          .sentence = "each node's first rank reduces for it, these send each other all, and back",
          .order = kNodeOrder,
          .collectives = {Collective::all_reduce},
          .compose = [](Composer& composer) { Leaders(composer).compose(); },
          .can = nodes_are_alike,
          .why_not = "it needs several nodes, with as many ranks each"};
}

}  // namespace polypath::collective
