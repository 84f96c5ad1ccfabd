// The two-stage algorithm of 003: each rank reduces its part from the values of all ranks, then
// sends the result to all ranks. Of n ranks each sends and receives 2(n−1)/n of the message, over
// all its links. It reduces in the order of the ranks (fold.h), in its output: in place its own
// values are there, else rank 0's arrive there, or rank 1's at rank 0.

#include "collective/algorithms/algorithm.h"
#include "collective/algorithms/fixed_order.h"

namespace polypath::collective {
namespace {

class Flat {
 public:
  explicit Flat(Composer& composer)
      : composer_(composer),
        collective_(composer.request().collective),
        root_(composer.request().root),
        ranks_(composer.ranks()),
        pieces_(composer.pieces(part(0).bytes)) {}

  void compose() {
    keep_own();
    std::vector<std::function<void(int)>> steps;
    if (reduces(collective_)) steps.emplace_back([this](int piece) { reduce_parts(piece); });
    else steps.emplace_back([this](int piece) { deal_out(piece); });
    if (collective_ != Collective::reduce_scatter)
      steps.emplace_back([this](int piece) { give_to_all(piece); });
    pipeline(pieces_, steps);
  }

 private:
  [[nodiscard]] Part part(int rank) const {
    if (collective_ != Collective::reduce_scatter) return composer_.part(rank, ranks_);
    return {composer_.request().start_of(rank), composer_.request().part()};
  }
  [[nodiscard]] Part piece_of(int rank, int piece) const {
    return composer_.piece(part(rank), piece, pieces_);
  }
  [[nodiscard]] bool has_output(int rank) const {
    return collective_ != Collective::reduce || rank == root_;
  }
  [[nodiscard]] Slice output(int rank, Bytes offset) const {
    return composer_.output(
        rank, collective_ == Collective::reduce_scatter ? offset - part(rank).offset : offset);
  }

  // True if a rank's own values are in its output before others arrive. Arriving values would have
  // to be copied to a private output; instead the rank's own values are copied there, earlier.
  [[nodiscard]] bool keeps_own(int rank) const {
    const bool in_output = composer_.request().in_place || composer_.tuning().private_memory;
    return in_output && has_output(rank);
  }

  void keep_own() {
    if (collective_ == Collective::broadcast) return keep({{}, composer_.request().part()}, root_);
    for (int rank = 0; rank < ranks_; ++rank)
      if (keeps_own(rank)) keep(part(rank), rank);
  }
  void keep(const Part& own, int rank) {
    composer_.copy(composer_.input(rank, own.offset), output(rank, own.offset), own.bytes);
  }

  // Where a rank's values arrive.
  [[nodiscard]] Slice arrival(int from, int to, const Part& part) {
    const bool in_output = has_output(to) && !keeps_own(to) && from == (to == 0 ? 1 : 0);
    return in_output ? output(to, part.offset) : composer_.slot(from, to, part.bytes);
  }

  // In rotated order, so that no rank receives from two at the same time sooner than need be.
  void reduce_parts(int piece) {
    std::vector<Message> messages;
    std::vector<std::vector<Operand>> operands(static_cast<std::size_t>(ranks_));
    for (auto& each : operands) each.resize(static_cast<std::size_t>(ranks_));
    for (int distance = 1; distance < ranks_; ++distance)
      for (int from = 0; from < ranks_; ++from) {
        const int to = (from + distance) % ranks_;
        const Part part = piece_of(to, piece);
        if (part.bytes.value == 0) continue;
        const Slice arrived = arrival(from, to, part);
        operands[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)] = {arrived, true};
        messages.push_back({composer_.input(from, part.offset), arrived, part.bytes});
      }
    composer_.send(std::move(messages));
    held_.assign(static_cast<std::size_t>(ranks_), {});
    for (int rank = 0; rank < ranks_; ++rank)
      sum_up(rank, piece_of(rank, piece), operands[static_cast<std::size_t>(rank)]);
    sums_.push_back(held_);
  }

  void sum_up(int rank, const Part& part, std::vector<Operand>& operands) {
    if (part.bytes.value == 0) return;
    const bool kept = keeps_own(rank);
    operands[static_cast<std::size_t>(rank)] = {
        kept ? output(rank, part.offset) : composer_.input(rank, part.offset), kept};
    std::optional<Slice> result;
    if (has_output(rank)) result = output(rank, part.offset);
    held_[static_cast<std::size_t>(rank)] =
        fold_in_groups(composer_, groups_, operands, part.bytes, result);
  }

  // The root gives each rank its part.
  void deal_out(int piece) {
    std::vector<Message> messages;
    held_.assign(static_cast<std::size_t>(ranks_), {});
    for (int distance = 0; distance < ranks_; ++distance) {
      const int rank = (root_ + distance) % ranks_;
      const Part part = piece_of(rank, piece);
      const Slice source = composer_.input(root_, part.offset);
      Slice& held = held_[static_cast<std::size_t>(rank)];
      held = rank == root_ ? source : output(rank, part.offset);
      if (rank != root_) messages.push_back({source, held, part.bytes});
    }
    composer_.send(std::move(messages));
    sums_.push_back(held_);
  }

  void give_to_all(int piece) {
    std::vector<Message> messages;
    for (int distance = 1; distance < ranks_; ++distance)
      for (int from = 0; from < ranks_; ++from) {
        const int to = (from + distance) % ranks_;
        const bool has_it = collective_ == Collective::broadcast && to == root_;
        const Part part = piece_of(from, piece);
        if (has_it || !has_output(to) || part.bytes.value == 0) continue;
        messages.push_back({sums_[static_cast<std::size_t>(piece)][static_cast<std::size_t>(from)],
                            output(to, part.offset), part.bytes});
      }
    composer_.send(std::move(messages));
  }

  Composer& composer_;
  Collective collective_;
  int root_;
  int ranks_;
  int pieces_;
  std::vector<std::vector<int>> groups_ = order_groups(composer_.machine(), composer_.request());
  std::vector<Slice> held_;               // by rank, of the piece at hand
  std::vector<std::vector<Slice>> sums_;  // the same by piece
};

}  // namespace

Algorithm flat() {
  return {.name = "flat",
          .sentence = "each rank reduces its part from all others, then gives it to all",
          .order = kFixedOrder,
          .collectives = {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter,
                          Collective::broadcast},
          .compose = [](Composer& composer) { Flat(composer).compose(); }};
}

}  // namespace polypath::collective
