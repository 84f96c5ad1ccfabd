// Every rank sends to every other at once, in rotated order: rank r to r+1, r+2, …, so that at any
// time each receives from another one. Of n ranks each sends and receives (n−1)/n of the message,
// over all its links. Blocks may differ (all_to_all_v): all are cut into as many pieces, so that
// they are over at the same time as far as their links are.

#include <algorithm>

#include "collective/algorithms/algorithm.h"

namespace polypath::collective {
namespace {

class RotatedExchange {
 public:
  explicit RotatedExchange(Composer& composer)
      : composer_(composer),
        to_all_(composer.request().collective != Collective::all_gather),
        ranks_(composer.ranks()),
        largest_(largest_block()),
        through_slots_(to_all_ && composer.request().in_place),
        pieces_(in_whole_blocks() ? 1 : composer.pieces(largest_)) {}

  void compose() {
    for (int rank = 0; rank < ranks_; ++rank)
      composer_.copy(source(rank, rank), target(rank, rank), composer_.request().block(rank, rank));
    // In turn as many go to one rank before the next as there are slots for.
    const int at_a_time = composer_.tuning().in_turn ? kPieceSlots : 1;
    for (int piece = 0; piece < pieces_; piece += at_a_time)
      send(piece, std::min(piece + at_a_time, pieces_));
  }

 private:
  // Blocks that go through no slot need not be cut, and whole blocks keep their turns best.
  [[nodiscard]] bool in_whole_blocks() const {
    const Tuning& tuning = composer_.tuning();
    return tuning.in_turn && !tuning.several_paths && !tuning.private_memory && !through_slots_;
  }
  [[nodiscard]] Bytes largest_block() const {
    Bytes most;
    for (int from = 0; from < ranks_; ++from)
      for (int to = 0; to < ranks_; ++to)
        if (from != to) most = std::max(most, composer_.request().block(from, to));
    return most;
  }
  [[nodiscard]] Slice source(int from, int to, Bytes offset = {}) const {
    const Bytes block = to_all_ ? block_sent(composer_.request(), from, to).offset : Bytes{};
    return composer_.input(from, block + offset);
  }
  [[nodiscard]] Slice target(int from, int to, Bytes offset = {}) const {
    return composer_.output(to, block_received(composer_.request(), from, to).offset + offset);
  }

  // The last ones to be over, which decide about the end. Over several paths they are planned by
  // themselves: a joint plan keeps every message as fast as alone, and so the others' links idle.
  [[nodiscard]] bool is_large(Bytes block) const { return block + block >= largest_; }

  // In place an arriving block overwrites a block that is still to be sent, unless it waits.
  void send(int begin, int end) {
    std::vector<Message> large, small, kept;
    for (int distance = 1; distance < ranks_; ++distance)
      for (int number = begin; number < end; ++number)
        for (int from = 0; from < ranks_; ++from) {
          const int to = (from + distance) % ranks_;
          const Part block{{}, composer_.request().block(from, to)};
          const auto [offset, bytes] = composer_.piece(block, number, pieces_);
          const Slice last = target(from, to, offset);
          const Slice first = through_slots_ ? composer_.slot(from, to, bytes) : last;
          auto& messages = is_large(block.bytes) ? large : small;
          messages.push_back({source(from, to, offset), first, bytes});
          if (through_slots_) kept.push_back({first, last, bytes});
        }
    composer_.send(std::move(large));
    composer_.send(std::move(small));
    for (const Message& each : kept) composer_.copy(each.from, each.to, each.bytes);
  }

  Composer& composer_;
  bool to_all_;
  int ranks_;
  Bytes largest_;
  bool through_slots_;
  int pieces_;
};

}  // namespace

Algorithm exchange() {
  return {.name = "exchange",
          .sentence = "everybody sends to everybody at once, in rotated order",
          .order = "",
          .collectives = {Collective::all_gather, Collective::all_to_all, Collective::all_to_all_v},
          .compose = [](Composer& composer) { RotatedExchange(composer).compose(); },
          .in_turn = true};
}

}  // namespace polypath::collective
