// Through pinned memory of the host, written once and read by all ranks that need it: for machines
// whose GPUs do not reach each other's memory. There a copy between GPUs is two copies, one to the
// host and one from it, and one from a rank to n−1 others is written n−1 times. Here it is written
// once. Each rank copies in both directions itself: from its memory into a slot of the host's
// nearest to it, and from the others' slots. Reductions are on the GPUs, in the order of the ranks
// (fold.h).
//
// The bytes that each rank writes to the host and reads from it, of S bytes of message (request.h),
// and the bytes that all of them move there, which that memory's two directions share:
//
//                      writes        reads         all of them, read and written
//   all_reduce         S             2(n−1)/n·S    (3n−2)·S
//   reduce, root       S             S
//     any other one    S             S             2n·S
//   reduce_scatter     (n−1)/n·S     (n−1)/n·S     2(n−1)·S
//   all_gather         S/n           (n−1)/n·S     n·S
//   all_to_all         (n−1)/n·S     (n−1)/n·S     2(n−1)·S
//   broadcast          S, root only  S, others     n·S
//
// An all-reduce: rank r writes what it has of the others' parts, (n−1)/n·S, reads what these have
// of its own, as much, reduces it, writes the result, S/n, and reads the others' results. A reduce
// to a root gives the root no part, if there are two others or more: it would read its own part's
// values and the others' results, 2(n−1)/n·S as above; without it, it reads the results, S, and of
// the others each reads the n−1 values of its part, S/(n−1), as much.
//
// With w written and r read by a rank, links of rates W and R that carry D both ways together, a
// host's memory of rate M that m bytes go through: no less than max(w/W, r/R, (w+r)/D, m/M). On
// nop2p4 an all-reduce of four ranks takes 1.5·S at 26.2 GB/s from the host, 2.5·S at 45.2 both
// ways, and 10·S at 163.8 in the host's memory, which is what limits: 61.1 ms per GB. Staged by
// itself, each message would be written as often as it is read, and 12·S be moved.
//
// A rank writes into memory near itself: no place is near to all ranks that read the same bytes,
// and writing into a farther memory is no slower than reading from it.

#include "collective/algorithms/algorithm.h"
#include "collective/algorithms/fixed_order.h"
#include "collective/algorithms/host_parts.h"
#include "collective/trees/index_of.h"

namespace polypath::collective {
namespace {

class Host {
 public:
  explicit Host(Composer& composer)
      : composer_(composer),
        ranks_(composer.ranks()),
        pieces_(composer.pieces(HostParts::most_written(composer.request()))),
        parts_(composer.request(), pieces_),
        written_(index_of(pieces_ * ranks_ * ranks_)),
        values_(index_of(pieces_ * ranks_)),
        published_(index_of(pieces_ * ranks_)) {}

  void compose() {
    const bool reduced = reduces(composer_.request().collective);
    keep_own();
    std::vector<std::function<void(int)>> steps;
    if (parts_.is_scattered()) steps.emplace_back([this](int piece) { scatter(piece); });
    if (reduced) steps.emplace_back([this](int piece) { collect(piece); });
    else if (parts_.is_scattered()) steps.emplace_back([this](int piece) { deliver(piece); });
    if (parts_.is_published()) {
      steps.emplace_back([this](int piece) { publish(piece); });
      steps.emplace_back([this](int piece) { give_to_all(piece); });
    }
    pipeline(pieces_, steps);
  }

 private:
  /// A stretch of bytes that is copied from one memory into another.
  struct Stretch {
    Bytes source, target, bytes;
  };

  Slice& written(int piece, int from, int to) {
    return written_[index_of((piece * ranks_ + from) * ranks_ + to)];
  }
  Slice& value(int piece, int rank) { return values_[index_of(piece * ranks_ + rank)]; }
  Slice& published(int piece, int rank) { return published_[index_of(piece * ranks_ + rank)]; }

  void keep_own() {
    for (int rank = 0; rank < ranks_; ++rank)
      if (const auto own = parts_.kept(rank))
        composer_.copy(composer_.input(rank, own->input), composer_.output(rank, own->output),
                       own->bytes);
  }

  // One slot for all that a rank sends to the others, side by side: bytes that lie side by side in
  // its input, too, are one copy.
  void scatter(int piece) {
    for (int from = 0; from < ranks_; ++from) {
      std::vector<Stretch> stretches;
      Bytes used;
      for (int to = 0; to < ranks_; ++to) {
        const Part part = from == to ? Part{} : parts_.sent(from, to, piece);
        if (part.bytes.value == 0) continue;
        written(piece, from, to).offset = used;
        append(stretches, {part.offset, used, part.bytes});
        used += part.bytes;
      }
      if (!stretches.empty()) write(piece, from, stretches);
    }
  }
  static void append(std::vector<Stretch>& stretches, const Stretch& next) {
    if (!stretches.empty() && stretches.back().source + stretches.back().bytes == next.source)
      stretches.back().bytes += next.bytes;
    else stretches.push_back(next);
  }
  void write(int piece, int from, const std::vector<Stretch>& stretches) {
    const Slice slot = composer_.host_slot(from);
    for (int to = 0; to < ranks_; ++to) written(piece, from, to).buffer = slot.buffer;
    for (const Stretch& each : stretches)
      composer_.copy(composer_.input(from, each.source), {slot.buffer, each.target}, each.bytes);
  }

  // In rotated order, so that not all read what one rank has written.
  void deliver(int piece) {
    for (int distance = 1; distance < ranks_; ++distance)
      for (int to = 0; to < ranks_; ++to) {
        const int from = (to + distance) % ranks_;
        const Part part = parts_.received(from, to, piece);
        composer_.copy(written(piece, from, to), composer_.output(to, part.offset), part.bytes);
      }
  }

  void collect(int piece) {
    std::vector<std::vector<Operand>> operands;
    for (int rank = 0; rank < ranks_; ++rank) operands.push_back(arrivals(piece, rank));
    for (int distance = 1; distance < ranks_; ++distance)
      for (int to = 0; to < ranks_; ++to) {
        const int from = (to + distance) % ranks_;
        if (operands[index_of(to)].empty()) continue;
        composer_.copy(written(piece, from, to), operands[index_of(to)][index_of(from)].at,
                       parts_.part(to, piece).bytes);
      }
    for (int rank = 0; rank < ranks_; ++rank)
      if (!operands[index_of(rank)].empty())
        value(piece, rank) = fold_in_groups(composer_, groups_, operands[index_of(rank)],
                                            parts_.part(rank, piece).bytes, result(piece, rank));
  }

  // Where the values of a rank's part are once all have arrived: one of them in its output, which
  // has its own already if they are in place, the others in one slot.
  std::vector<Operand> arrivals(int piece, int rank) {
    const Part part = parts_.part(rank, piece);
    std::vector<Operand> operands;
    if (part.bytes.value == 0) return operands;
    const std::optional<Slice> into = result(piece, rank);
    const bool in_place = composer_.request().in_place && into;
    const Slice own = composer_.input(rank, part.offset);
    const int first = rank == 0 ? 1 : 0;
    std::optional<Slice> slot;
    for (int from = 0; from < ranks_; ++from) {
      if (from == rank) operands.push_back({in_place ? *into : own, in_place});
      else if (into && !in_place && from == first) operands.push_back({*into, true});
      else operands.push_back({next_in(slot, rank, part.bytes), true});
    }
    return operands;
  }
  Slice next_in(std::optional<Slice>& slot, int rank, Bytes bytes) {
    if (!slot) slot = composer_.arrival_slot(rank);
    const Slice next = *slot;
    slot->offset += bytes;
    return next;
  }
  std::optional<Slice> result(int piece, int rank) {
    if (!parts_.has_output(rank)) return std::nullopt;
    return composer_.output(rank, parts_.in_output(rank, piece));
  }

  void publish(int piece) {
    for (int rank = 0; rank < ranks_; ++rank) {
      const Bytes bytes = parts_.part(rank, piece).bytes;
      if (bytes.value == 0) continue;
      const bool reduced = reduces(composer_.request().collective);
      const Slice source =
          reduced ? value(piece, rank) : composer_.input(rank, parts_.in_input(rank, piece));
      published(piece, rank) = composer_.host_slot(rank);
      composer_.copy(source, published(piece, rank), bytes);
    }
  }

  void give_to_all(int piece) {
    for (int distance = 1; distance < ranks_; ++distance)
      for (int to = 0; to < ranks_; ++to) {
        const int from = (to + distance) % ranks_;
        const Part part = parts_.part(from, piece);
        if (!parts_.has_output(to) || part.bytes.value == 0) continue;
        composer_.copy(published(piece, from), composer_.output(to, part.offset), part.bytes);
      }
  }

  Composer& composer_;
  int ranks_;
  int pieces_;
  HostParts parts_;
  std::vector<std::vector<int>> groups_ = order_groups(composer_.machine(), composer_.request());
  std::vector<Slice> written_;    ///< by piece, the rank that has written it, and the one it is for
  std::vector<Slice> values_;     ///< by piece and rank: the values to reduce
  std::vector<Slice> published_;  ///< the same in the host's memory
};

}  // namespace

Algorithm host() {
  return {.name = "host",
          .sentence = "each rank writes once into the host's pinned memory what the others read",
          .order = kFixedOrder,
          .collectives = {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter,
                          Collective::all_gather, Collective::all_to_all, Collective::broadcast,
                          Collective::all_to_all_v},
          .compose = [](Composer& composer) { Host(composer).compose(); },
          .can = reaches_through_host,
          .why_not = kNotThroughHost};
}

}  // namespace polypath::collective
