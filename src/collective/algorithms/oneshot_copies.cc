// Two ranks send each other all that they have, and each reduces all of it: the traffic on their
// link is the same as in two stages, which send each half there and back, and no rank waits for a
// sum.

#include "collective/algorithms/algorithm.h"

namespace polypath::collective {
namespace {

class OneshotCopies {
 public:
  explicit OneshotCopies(Composer& composer)
      : composer_(composer),
        whole_{{}, composer.request().part()},
        pieces_(composer.pieces(whole_.bytes)) {}

  void compose() {
    const std::vector<std::function<void(int)>> steps = {[this](int piece) { send(piece); },
                                                         [this](int piece) { reduce(piece); }};
    pipeline(pieces_, steps);
  }

 private:
  [[nodiscard]] Part piece_of(int number) const { return composer_.piece(whole_, number, pieces_); }

  void send(int number) {
    const Part piece = piece_of(number);
    std::vector<Message> messages;
    arrived_.emplace_back();
    for (int rank = 0; rank < 2; ++rank) {
      arrived_.back().push_back(composer_.slot(1 - rank, rank, piece.bytes));
      messages.push_back(
          {composer_.input(1 - rank, piece.offset), arrived_.back().back(), piece.bytes});
    }
    composer_.send(std::move(messages));
  }

  // Two values give the same bits in either order.
  void reduce(int number) {
    const Part piece = piece_of(number);
    for (int rank = 0; rank < 2; ++rank) {
      const Slice sum = composer_.output(rank, piece.offset);
      composer_.copy(composer_.input(rank, piece.offset), sum, piece.bytes);
      composer_.reduce(sum,
                       arrived_[static_cast<std::size_t>(number)][static_cast<std::size_t>(rank)],
                       piece.bytes);
    }
  }

  Composer& composer_;
  Part whole_;
  int pieces_;
  std::vector<std::vector<Slice>> arrived_;  // by piece and rank
};

bool can_oneshot_copies(const Machine&, const CollectiveRequest& request) {
  return request.size() == 2;
}

}  // namespace

Algorithm oneshot_copies() {
  return {.name = "oneshot-copies",
          .sentence = "two ranks send each other all they have, and each reduces all of it",
          .order = kRankOrder,
          .collectives = {Collective::all_reduce},
          .compose = [](Composer& composer) { OneshotCopies(composer).compose(); },
          .can = can_oneshot_copies,
          .why_not = "it is for two ranks"};
}

}  // namespace polypath::collective
