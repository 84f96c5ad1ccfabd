// The all-gather of the algorithm `nodes` (nodes.cc).

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

}  // namespace

void compose_all_gather_of_nodes(Composer& composer) { AllGatherOfNodes(composer).compose(); }

}  // namespace polypath::collective
