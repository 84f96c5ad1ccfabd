// A binomial tree: from the root in ⌈log₂ n⌉ steps, in each of which every rank that has the
// message sends it to one more; for sums the same backwards. Ranks are counted from the root on.

#include <optional>

#include "collective/algorithms/algorithm.h"

namespace polypath::collective {
namespace {

class BinomialTree {
 public:
  explicit BinomialTree(Composer& composer)
      : composer_(composer),
        root_(composer.request().root),
        ranks_(composer.ranks()),
        pieces_(composer.pieces(composer.request().part())),
        sums_(static_cast<std::size_t>(pieces_ * ranks_)) {
    while ((1 << steps_) < ranks_) ++steps_;
  }

  void compose() {
    composer_.copy(composer_.input(root_), composer_.output(root_), composer_.request().part());
    const bool to_root = composer_.request().collective == Collective::reduce;
    std::vector<std::function<void(int)>> steps;
    for (int step = 0; step < steps_; ++step)
      steps.emplace_back([this, step, to_root](int piece) {
        if (to_root) reduce(piece, steps_ - 1 - step);
        else give(piece, step);
      });
    one_or_all(steps);
  }

 private:
  // Sums wait in slots for as many steps as there are.
  void one_or_all(std::span<const std::function<void(int)>> steps) const {
    if (steps_ <= kPieceSlots) return pipeline(pieces_, steps);
    for (int piece = 0; piece < pieces_; ++piece)
      for (const auto& step : steps) step(piece);
  }
  [[nodiscard]] int rank(int from_root) const { return (root_ + from_root) % ranks_; }
  [[nodiscard]] Part piece_of(int piece) const {
    return composer_.piece({{}, composer_.request().part()}, piece, pieces_);
  }

  // The root need not wait for its own copy.
  [[nodiscard]] Slice held_by(int rank, Bytes offset) const {
    return rank == root_ ? composer_.input(rank, offset) : composer_.output(rank, offset);
  }

  void give(int number, int step) {
    const Part piece = piece_of(number);
    std::vector<Message> messages;
    for (int from = 0; from < 1 << step && from + (1 << step) < ranks_; ++from)
      messages.push_back({held_by(rank(from), piece.offset),
                          composer_.output(rank(from + (1 << step)), piece.offset), piece.bytes});
    composer_.send(std::move(messages));
  }

  // A rank that has received no values yet sends its input; other values are added to the first
  // that arrive.
  void reduce(int number, int step) {
    const Part piece = piece_of(number);
    std::vector<Message> messages;
    for (int to = 0; to < 1 << step && to + (1 << step) < ranks_; ++to) {
      const int from = to + (1 << step);
      const auto& sum = sum_of(number, from);
      messages.push_back({sum ? *sum : composer_.input(rank(from), piece.offset),
                          composer_.slot(rank(from), rank(to), piece.bytes), piece.bytes});
    }
    composer_.send(messages);
    for (std::size_t to = 0; to < messages.size(); ++to)
      add(number, static_cast<int>(to), messages[to].to, piece);
  }

  void add(int number, int to, Slice arrived, const Part& piece) {
    auto& sum = sum_of(number, to);
    if (to == 0) sum = composer_.output(root_, piece.offset);
    if (sum) return composer_.reduce(*sum, arrived, piece.bytes);
    composer_.reduce(arrived, composer_.input(rank(to), piece.offset), piece.bytes);
    sum = arrived;
  }

  [[nodiscard]] std::optional<Slice>& sum_of(int piece, int from_root) {
    const int number = piece * ranks_ + from_root;
    return sums_[static_cast<std::size_t>(number)];
  }

  Composer& composer_;
  int root_;
  int ranks_;
  int pieces_;
  int steps_ = 0;
  std::vector<std::optional<Slice>> sums_;  // by piece and rank from the root on
};

}  // namespace

Algorithm tree() {
  return {.name = "tree",
          .sentence = "in each step every rank that has it gives it to one more, or takes from one",
          .order = "counted from the root, each rank with those 2^i above it, the largest i first",
          .collectives = {Collective::reduce, Collective::broadcast},
          .compose = [](Composer& composer) { BinomialTree(composer).compose(); }};
}

}  // namespace polypath::collective
