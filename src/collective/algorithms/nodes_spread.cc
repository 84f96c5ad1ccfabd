// The parts of the algorithm `nodes` that add nothing up (nodes.cc).

#include <algorithm>

#include "collective/algorithms/node_ranks.h"

namespace polypath::collective {
namespace {

class AllGatherOfNodes : NodeStages {
 public:
  explicit AllGatherOfNodes(Composer& composer)
      : NodeStages(composer), pieces_(composer.pieces(composer.request().part())) {}

  void compose() {
    for (int rank = 0; rank < composer_.ranks(); ++rank)
      composer_.copy(composer_.input(rank), block_at(rank, rank, {}), composer_.request().part());
    const std::vector<std::function<void(int)>> steps = {
        [this](int piece) { give_between_nodes(piece_of(piece)); },
        [this](int piece) { give_in_nodes(piece_of(piece)); }};
    pipeline(pieces_, steps);
  }

 private:
  [[nodiscard]] Part piece_of(int piece) const {
    return composer_.piece({{}, composer_.request().part()}, piece, pieces_);
  }
  // The block that rank `of` has given, in the output of rank `at`.
  [[nodiscard]] Slice block_at(int at, int of, Bytes offset) const {
    return composer_.output(at, composer_.request().start_of(of) + offset);
  }

  void give_between_nodes(const Part& piece) {
    std::vector<Message> messages;
    for (int distance = 1; distance < nodes_; ++distance)
      for (int node = 0; node < nodes_; ++node)
        for (int local = 0; local < local_; ++local) {
          const int from = rank(node, local), to = rank(node + distance, local);
          messages.push_back(
              {composer_.input(from, piece.offset), block_at(to, from, piece.offset), piece.bytes});
        }
    composer_.send(std::move(messages));
  }

  // Its own first, which is there at once.
  void give_in_nodes(const Part& piece) {
    for (int away = 0; away < nodes_; ++away) {
      std::vector<Message> messages;
      for (int distance = 1; distance < local_; ++distance)
        for (int node = 0; node < nodes_; ++node)
          for (int local = 0; local < local_; ++local) {
            const int from = rank(node, local), to = rank(node, (local + distance) % local_);
            const int of = rank(node + nodes_ - away, local);
            const Slice source =
                of == from ? composer_.input(from, piece.offset) : block_at(from, of, piece.offset);
            messages.push_back({source, block_at(to, of, piece.offset), piece.bytes});
          }
      composer_.send(std::move(messages));
    }
  }

  int pieces_;
};

// From node to node, counted from the root's on.
class BroadcastOfNodes : NodeStages {
 public:
  explicit BroadcastOfNodes(Composer& composer)
      : NodeStages(composer),
        root_(composer.request().root),
        first_(node_of(root_)),
        pieces_(composer.pieces(composer.part(0, local_).bytes)) {}

  void compose() {
    composer_.copy(composer_.input(root_), composer_.output(root_), composer_.request().part());
    std::vector<std::function<void(int)>> steps = {[this](int piece) { deal_out(piece); }};
    for (int away = 0; away < nodes_; ++away)
      steps.emplace_back([this, away](int piece) {
        if (away + 1 < nodes_) pass_on(away, piece);
        give_in_node(away, piece);
      });
    pipeline(pieces_, steps);
  }

 private:
  [[nodiscard]] int node_of(int rank) const {
    int node = 0;
    while (std::find(ranks_[static_cast<std::size_t>(node)].begin(),
                     ranks_[static_cast<std::size_t>(node)].end(),
                     rank) == ranks_[static_cast<std::size_t>(node)].end())
      ++node;
    return node;
  }
  [[nodiscard]] Part piece_of(int local, int piece) const {
    return composer_.piece(composer_.part(local, local_), piece, pieces_);
  }
  // The root need not wait for its own copy.
  [[nodiscard]] Slice held_by(int rank, const Part& part) const {
    return rank == root_ ? composer_.input(rank, part.offset) : composer_.output(rank, part.offset);
  }
  void send(std::vector<Message>& messages, int from, int to, const Part& part) const {
    if (to == root_ || to == from) return;
    messages.push_back({held_by(from, part), composer_.output(to, part.offset), part.bytes});
  }

  void deal_out(int piece) {
    std::vector<Message> messages;
    for (int local = 0; local < local_; ++local)
      send(messages, root_, rank(first_, local), piece_of(local, piece));
    composer_.send(std::move(messages));
  }

  void pass_on(int away, int piece) {
    std::vector<Message> messages;
    for (int local = 0; local < local_; ++local)
      send(messages, rank(first_ + away, local), rank(first_ + away + 1, local),
           piece_of(local, piece));
    composer_.send(std::move(messages));
  }

  void give_in_node(int away, int piece) {
    std::vector<Message> messages;
    for (int distance = 1; distance < local_; ++distance)
      for (int local = 0; local < local_; ++local)
        send(messages, rank(first_ + away, local), rank(first_ + away, (local + distance) % local_),
             piece_of(local, piece));
    composer_.send(std::move(messages));
  }

  int root_;
  int first_;
  int pieces_;
};

}  // namespace

void compose_all_gather_of_nodes(Composer& composer) { AllGatherOfNodes(composer).compose(); }

void compose_broadcast_of_nodes(Composer& composer) { BroadcastOfNodes(composer).compose(); }

}  // namespace polypath::collective
