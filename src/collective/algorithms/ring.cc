// Along a ring: in each of n−1 steps every rank sends what the rank before it has just sent it, of
// reductions together with its own. Part r goes around from rank r+1 to rank r. Of n ranks each
// sends (n−1)/n of the message for the sum and as much again for the result, over one link. From
// and to a root it is a chain: the whole message over each link, piece after piece.

#include <algorithm>

#include "collective/algorithms/algorithm.h"

namespace polypath::collective {
namespace {

class AroundRing {
 public:
  explicit AroundRing(Composer& composer)
      : composer_(composer),
        collective_(composer.request().collective),
        ranks_(composer.ranks()),
        pieces_(composer.pieces(part(0).bytes)) {}

  void compose() {
    keep_own();
    for (int piece = 0; piece < pieces_; piece += kAtATime) {
      const int end = std::min(piece + kAtATime, pieces_);
      if (reduces(collective_)) in_steps(piece, end, [this](int p, int step) { reduce(p, step); });
      if (collective_ != Collective::reduce_scatter)
        in_steps(piece, end, [this](int p, int step) { pass_on(p, step); });
    }
  }

 private:
  // So that one is sent while the other is reduced.
  static constexpr int kAtATime = 2;

  template <class Action>
  void in_steps(int piece, int end, Action action) {
    for (int step = 0; step < ranks_ - 1; ++step)
      for (int each = piece; each < end; ++each) action(each, step);
  }

  [[nodiscard]] bool in_blocks() const { return collective_ != Collective::all_reduce; }
  [[nodiscard]] int rank_at(int number) const { return ((number % ranks_) + ranks_) % ranks_; }
  [[nodiscard]] Part part(int rank) const {
    if (!in_blocks()) return composer_.part(rank, ranks_);
    return {composer_.request().start_of(rank), composer_.request().part()};
  }
  [[nodiscard]] Part piece_of(int part_number, int piece) const {
    return composer_.piece(part(part_number), piece, pieces_);
  }
  [[nodiscard]] Slice output(int rank, Bytes offset) const {
    return composer_.output(
        rank, collective_ == Collective::reduce_scatter ? offset - part(rank).offset : offset);
  }

  void keep_own() {
    for (int rank = 0; rank < ranks_; ++rank) {
      const Part own = part(rank);
      const Bytes from = collective_ == Collective::all_gather ? Bytes{} : own.offset;
      composer_.copy(composer_.input(rank, from), output(rank, own.offset), own.bytes);
    }
  }

  // The sum of a part is in a slot of the rank that has it, and at last in the output of the part's
  // own rank.
  void reduce(int piece, int step) {
    const int most_held = ranks_ * kAtATime;
    held_.resize(static_cast<std::size_t>(most_held));
    std::vector<Message> messages;
    std::vector<int> parts;
    for (int from = 0; from < ranks_; ++from) {
      const int number = rank_at(from - 1 - step);
      const Part part = piece_of(number, piece);
      const Slice source = step == 0 ? composer_.input(from, part.offset) : held(number, piece);
      messages.push_back({source, composer_.slot(from, rank_at(from + 1), part.bytes), part.bytes});
      parts.push_back(number);
    }
    composer_.send(messages);
    for (int from = 0; from < ranks_; ++from) {
      const auto index = static_cast<std::size_t>(from);
      add_own(rank_at(from + 1), parts[index], piece, messages[index].to);
    }
  }

  void add_own(int rank, int number, int piece, Slice arrived) {
    const Part part = piece_of(number, piece);
    if (rank == number) return composer_.reduce(output(rank, part.offset), arrived, part.bytes);
    composer_.reduce(arrived, composer_.input(rank, part.offset), part.bytes);
    held(number, piece) = arrived;
  }

  void pass_on(int piece, int step) {
    std::vector<Message> messages;
    for (int from = 0; from < ranks_; ++from) {
      const Part part = piece_of(rank_at(from - step), piece);
      messages.push_back({step == 0 ? own(from, part.offset) : output(from, part.offset),
                          output(rank_at(from + 1), part.offset), part.bytes});
    }
    composer_.send(std::move(messages));
  }

  // Bytes that are sent unchanged need not wait for a rank's own copy.
  [[nodiscard]] Slice own(int rank, Bytes offset) const {
    return collective_ == Collective::all_gather ? composer_.input(rank, offset - part(rank).offset)
                                                 : output(rank, offset);
  }

  Slice& held(int number, int piece) {
    const int index = number * kAtATime + piece % kAtATime;
    return held_[static_cast<std::size_t>(index)];
  }

  Composer& composer_;
  Collective collective_;
  int ranks_;
  int pieces_;
  std::vector<Slice> held_;  // by part and piece at hand
};

// From the root to the rank before it, or from the rank after it to the root.
class Chain {
 public:
  explicit Chain(Composer& composer)
      : composer_(composer),
        root_(composer.request().root),
        ranks_(composer.ranks()),
        pieces_(composer.pieces(whole().bytes)),
        held_(static_cast<std::size_t>(pieces_)) {}

  void compose() {
    const bool to_root = composer_.request().collective == Collective::reduce;
    composer_.copy(composer_.input(root_), composer_.output(root_), whole().bytes);
    std::vector<std::function<void(int)>> steps;
    for (int step = 0; step < ranks_ - 1; ++step)
      steps.emplace_back([this, step, to_root](int number) {
        const Part piece = composer_.piece(whole(), number, pieces_);
        if (to_root) reduce(step, piece, held_[static_cast<std::size_t>(number)]);
        else pass_on(step, piece);
      });
    pipeline(pieces_, steps);
  }

 private:
  [[nodiscard]] Part whole() const { return {{}, composer_.request().part()}; }
  [[nodiscard]] int rank_after(int steps) const { return (root_ + steps) % ranks_; }

  void pass_on(int step, const Part& piece) {
    composer_.send({{step == 0 ? composer_.input(root_, piece.offset)
                               : composer_.output(rank_after(step), piece.offset),
                     composer_.output(rank_after(step + 1), piece.offset), piece.bytes}});
  }

  void reduce(int step, const Part& piece, Slice& held) {
    const int from = rank_after(step + 1), to = rank_after(step + 2);
    const Slice arriving = composer_.slot(from, to, piece.bytes);
    const Slice source = step == 0 ? composer_.input(from, piece.offset) : held;
    composer_.send({{source, arriving, piece.bytes}});
    if (to == root_)
      return composer_.reduce(composer_.output(root_, piece.offset), arriving, piece.bytes);
    composer_.reduce(arriving, composer_.input(to, piece.offset), piece.bytes);
    held = arriving;
  }

  Composer& composer_;
  int root_;
  int ranks_;
  int pieces_;
  std::vector<Slice> held_;  // by piece, the sum so far
};

}  // namespace

Algorithm ring() {
  return {.name = "ring",
          .sentence = "each rank sends on to the next what it gets from the one before",
          .order = "of part r: r+1, r+2, ..., r (modulo the ranks); of a root the same",
          .collectives = {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter,
                          Collective::all_gather, Collective::broadcast},
          .compose = [](Composer& composer) {
            if (has_root(composer.request().collective)) Chain(composer).compose();
            else AroundRing(composer).compose();
          }};
}

}  // namespace polypath::collective
