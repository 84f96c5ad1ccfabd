// Bruck's algorithms: ⌈log₂ n⌉ steps, in step i rank r sends to r + 2^i. All-gather: rank r sends
// all that it has so far, so that each rank's data doubles per step. All-to-all: of its blocks
// those whose way to go has bit i set, so that each arrives after as many steps as its distance has
// bits. Few messages for small sizes; of all-to-all each byte is sent up to log₂ n times.

#include <algorithm>
#include <optional>

#include "collective/algorithms/algorithm.h"

namespace polypath::collective {
namespace {

int steps_of(int ranks) {
  int steps = 0;
  while ((1 << steps) < ranks) ++steps;
  return steps;
}

class BruckGather {
 public:
  explicit BruckGather(Composer& composer)
      : composer_(composer),
        ranks_(composer.ranks()),
        pieces_(composer.pieces(composer.request().part())) {}

  void compose() {
    for (int rank = 0; rank < ranks_; ++rank)
      composer_.copy(composer_.input(rank), block(rank, rank, {}), composer_.request().part());
    std::vector<std::function<void(int)>> steps;
    for (int step = 0; step < steps_of(ranks_); ++step)
      steps.emplace_back([this, step](int piece) { pass_on(piece, 1 << step); });
    pipeline(pieces_, steps);
  }

 private:
  [[nodiscard]] Slice block(int rank, int number, Bytes offset) const {
    return composer_.output(rank, composer_.request().start_of(number) + offset);
  }

  // A rank with `distance` blocks, its own and those of the ranks before it, sends as many as its
  // receiver lacks.
  void pass_on(int number, int distance) {
    const Part piece = composer_.piece({{}, composer_.request().part()}, number, pieces_);
    std::vector<Message> messages;
    for (int back = 0; back < std::min(distance, ranks_ - distance); ++back)
      for (int from = 0; from < ranks_; ++from) {
        const int of = (from - back + ranks_) % ranks_, to = (from + distance) % ranks_;
        const Slice source =
            back == 0 ? composer_.input(from, piece.offset) : block(from, of, piece.offset);
        messages.push_back({source, block(to, of, piece.offset), piece.bytes});
      }
    composer_.send(std::move(messages));
  }

  Composer& composer_;
  int ranks_;
  int pieces_;
};

// Blocks on their way are in slots, those of a step and a piece beside each other in one.
class BruckExchange {
 public:
  explicit BruckExchange(Composer& composer)
      : composer_(composer),
        ranks_(composer.ranks()),
        in_place_(composer.request().in_place),
        pieces_(composer.pieces(composer.request().part() *
                                static_cast<std::uint64_t>((ranks_ + 1) / 2))) {}

  void compose() {
    const Bytes part = composer_.request().part();
    for (int rank = 0; rank < ranks_; ++rank)
      composer_.copy(composer_.input(rank, block(rank)), composer_.output(rank, block(rank)), part);
    for (int piece = 0; piece < pieces_; ++piece)
      exchange(composer_.piece({{}, part}, piece, pieces_));
  }

 private:
  [[nodiscard]] Bytes block(int number) const { return composer_.request().start_of(number); }
  [[nodiscard]] int at(int rank, int distance) const { return (rank + distance) % ranks_; }

  // Where the block that began at rank `origin` with so far to go is now.
  [[nodiscard]] Slice& place(int origin, int distance) {
    const int number = origin * ranks_ + distance;
    return places_[static_cast<std::size_t>(number)];
  }

  void exchange(const Part& piece) {
    const int places = ranks_ * ranks_;
    places_.resize(static_cast<std::size_t>(places));
    for (int origin = 0; origin < ranks_; ++origin)
      for (int distance = 1; distance < ranks_; ++distance)
        place(origin, distance) =
            composer_.input(origin, block(at(origin, distance)) + piece.offset);
    for (int bit = 1; bit < ranks_; bit *= 2) step(piece, bit);
    if (in_place_) unload(piece);
  }

  void step(const Part& piece, int bit) {
    std::vector<Message> messages;
    for (int from = 0; from < ranks_; ++from) {
      std::optional<Slice> slot;
      for (int distance = bit; distance < ranks_; ++distance) {
        if ((distance & bit) == 0 || piece.bytes.value == 0) continue;
        const bool arrives = !in_place_ && distance < 2 * bit;
        if (!arrives && !slot) slot = composer_.slot(from, at(from, bit), piece.bytes);
        const int origin = (from - distance % bit + ranks_) % ranks_;
        Slice& now = place(origin, distance);
        const Slice next = arrives ? target(origin, distance, piece) : *slot;
        if (!arrives) slot->offset += piece.bytes;
        messages.push_back({now, next, piece.bytes});
        now = next;
      }
    }
    composer_.send(std::move(messages));
  }

  [[nodiscard]] Slice target(int origin, int distance, const Part& piece) const {
    return composer_.output(at(origin, distance), block(origin) + piece.offset);
  }

  // In place an arriving block overwrites a block that had still to be sent.
  void unload(const Part& piece) {
    for (int origin = 0; origin < ranks_; ++origin)
      for (int distance = 1; distance < ranks_; ++distance)
        composer_.copy(place(origin, distance), target(origin, distance, piece), piece.bytes);
  }

  Composer& composer_;
  int ranks_;
  bool in_place_;
  int pieces_;
  std::vector<Slice> places_;
};

}  // namespace

Algorithm bruck() {
  return {.name = "bruck",
          .sentence = "in step i everybody sends what it has for others to the one 2^i further on",
          .order = "",
          .collectives = {Collective::all_gather, Collective::all_to_all},
          .compose = [](Composer& composer) {
            if (composer.request().collective == Collective::all_gather)
              BruckGather(composer).compose();
            else BruckExchange(composer).compose();
          }};
}

}  // namespace polypath::collective
