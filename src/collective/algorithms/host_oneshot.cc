// Through pinned memory of the host in one step: each rank writes all that it has there once, and
// reads and reduces what all others have written; of a reduce the root does. Each of n ranks writes
// S bytes and reads (n−1)·S, n/2 times as much as in two stages (host.cc), and no rank waits until
// a sum is written and read: for messages whose time is mostly latency. All reduce in the order of
// the ranks (fold.h), and so all have the same bits.

#include "collective/algorithms/algorithm.h"
#include "collective/algorithms/fixed_order.h"
#include "collective/algorithms/host_parts.h"
#include "collective/trees/index_of.h"

namespace polypath::collective {
namespace {

class HostOneshot {
 public:
  explicit HostOneshot(Composer& composer)
      : composer_(composer),
        ranks_(composer.ranks()),
        whole_{{}, composer.request().part()},
        pieces_(composer.pieces(whole_.bytes)) {}

  void compose() {
    const std::vector<std::function<void(int)>> steps = {[this](int piece) { write(piece); },
                                                         [this](int piece) { reduce(piece); }};
    pipeline(pieces_, steps);
  }

 private:
  [[nodiscard]] Part piece_of(int number) const { return composer_.piece(whole_, number, pieces_); }
  [[nodiscard]] bool has_output(int rank) const {
    const CollectiveRequest& request = composer_.request();
    return request.collective != Collective::reduce || rank == request.root;
  }
  [[nodiscard]] bool in_place() const { return composer_.request().in_place; }
  // Out of place one value arrives where the sum has to be.
  [[nodiscard]] bool arrives_in_output(int from, int to) const {
    return !in_place() && from == (to == 0 ? 1 : 0);
  }

  void write(int number) {
    const Part piece = piece_of(number);
    written_.emplace_back();
    for (int rank = 0; rank < ranks_; ++rank) {
      const bool is_read =
          composer_.request().collective != Collective::reduce || !has_output(rank);
      written_.back().push_back(is_read ? composer_.host_slot(rank) : Slice{});
      if (!is_read) continue;
      composer_.copy(composer_.input(rank, piece.offset), written_.back().back(), piece.bytes);
    }
  }

  // All reads are issued before the reductions, which wait for them.
  void reduce(int number) {
    const Part piece = piece_of(number);
    std::vector<std::vector<Operand>> operands;
    for (int rank = 0; rank < ranks_; ++rank)
      operands.push_back(has_output(rank) ? arrivals(rank, piece) : std::vector<Operand>{});
    for (int distance = 1; distance < ranks_; ++distance)
      for (int to = 0; to < ranks_; ++to) {
        const int from = (to + distance) % ranks_;
        if (!has_output(to)) continue;
        composer_.copy(written_[index_of(number)][index_of(from)],
                       operands[index_of(to)][index_of(from)].at, piece.bytes);
      }
    for (int rank = 0; rank < ranks_; ++rank)
      if (has_output(rank))
        (void)fold_in_groups(composer_, groups_, operands[index_of(rank)], piece.bytes,
                             composer_.output(rank, piece.offset));
  }

  std::vector<Operand> arrivals(int rank, const Part& piece) {
    std::vector<Operand> operands;
    for (int from = 0; from < ranks_; ++from) {
      if (from == rank) operands.push_back({composer_.input(rank, piece.offset), in_place()});
      else if (arrives_in_output(from, rank))
        operands.push_back({composer_.output(rank, piece.offset), true});
      else operands.push_back({composer_.slot(from, rank, piece.bytes), true});
    }
    return operands;
  }

  Composer& composer_;
  int ranks_;
  Part whole_;
  int pieces_;
  std::vector<std::vector<int>> groups_ = order_groups(composer_.machine(), composer_.request());
  std::vector<std::vector<Slice>> written_;  ///< by piece and rank
};

}  // namespace

Algorithm host_oneshot() {
  return {.name = "host-oneshot",
          .sentence = "each rank writes all it has to the host once, and reduces what all have",
          .order = kFixedOrder,
          .collectives = {Collective::all_reduce, Collective::reduce},
          .compose = [](Composer& composer) { HostOneshot(composer).compose(); },
          .can = reaches_through_host,
          .why_not = kNotThroughHost};
}

}  // namespace polypath::collective
