// Everybody sends to everybody at once, in rotated order: rank r to r+1, r+2, …, so that at any
// time each receives from another one. Of n ranks each sends and receives (n−1)/n of the message,
// over all its links.

#include "collective/algorithm.h"

namespace polypath {
namespace {

class Exchange {
 public:
  explicit Exchange(Composer& composer)
      : composer_(composer),
        to_all_(composer.request().collective == Collective::all_to_all),
        ranks_(composer.ranks()),
        pieces_(composer.pieces(composer.request().part())) {}

  void compose() {
    for (int rank = 0; rank < ranks_; ++rank)
      composer_.copy(source(rank, rank, {}), target(rank, rank, {}), composer_.request().part());
    for (int piece = 0; piece < pieces_; ++piece)
      send(composer_.piece({{}, composer_.request().part()}, piece, pieces_));
  }

 private:
  [[nodiscard]] Bytes block(int number) const {
    return composer_.request().part() * static_cast<std::uint64_t>(number);
  }
  [[nodiscard]] Slice source(int from, int to, Bytes offset) const {
    return composer_.input(from, to_all_ ? block(to) + offset : offset);
  }
  [[nodiscard]] Slice target(int from, int to, Bytes offset) const {
    return composer_.output(to, block(from) + offset);
  }

  // In place an arriving block takes the room of one that is still to be sent, unless it waits.
  void send(const Part& piece) {
    const bool through_slots = to_all_ && composer_.request().in_place;
    std::vector<Message> messages, kept;
    for (int distance = 1; distance < ranks_; ++distance)
      for (int from = 0; from < ranks_; ++from) {
        const int to = (from + distance) % ranks_;
        const Slice last = target(from, to, piece.offset);
        const Slice first = through_slots ? composer_.slot(from, to, piece.bytes) : last;
        messages.push_back({source(from, to, piece.offset), first, piece.bytes});
        if (through_slots) kept.push_back({first, last, piece.bytes});
      }
    composer_.send(std::move(messages));
    for (const Message& each : kept) composer_.copy(each.from, each.to, each.bytes);
  }

  Composer& composer_;
  bool to_all_;
  int ranks_;
  int pieces_;
};

}  // namespace

Algorithm exchange() {
  return {.name = "exchange",
          .sentence = "everybody sends to everybody at once, in rotated order",
          .order = "",
          .collectives = {Collective::all_gather, Collective::all_to_all},
          .compose = [](Composer& composer) { Exchange(composer).compose(); }};
}

}  // namespace polypath
