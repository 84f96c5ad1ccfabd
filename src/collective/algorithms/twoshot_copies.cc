// All-reduce as `twoshot` does it, but copies send the results on: a kernel per GPU reduces its
// part of what comes, and then each gives its part to all. Of a message of S bytes each of n ranks
// sends (n−1)/n·S by its kernel and as much by copies, which carry more over NVLink than kernels do
// (of four H200s that send to each other at once 375 to 387 GB/s, kernels 311 to 354,
// results/h200x4/sending.json).

#include <algorithm>

#include "collective/algorithms/algorithm.h"
#include "collective/program/mail.h"

namespace polypath::collective {
namespace {

class TwoshotCopies {
 public:
  explicit TwoshotCopies(Composer& composer)
      : composer_(composer),
        part_(largest_part(composer.request())),
        all_(composer.request().part()),
        pieces_(in_whole_parts() ? 1 : composer.pieces(part_)) {}

  void compose() {
    const std::vector<std::function<void(int)>> steps = {[this](int piece) { reduce(piece); },
                                                         [this](int piece) { share(piece); }};
    pipeline(pieces_, steps);
  }

 private:
  // Parts that go through no slot need not be cut, and whole parts keep their turns best.
  [[nodiscard]] bool in_whole_parts() const {
    const Tuning& tuning = composer_.tuning();
    return tuning.in_turn && !tuning.several_paths && !tuning.private_memory;
  }
  [[nodiscard]] Part piece_of(int rank, int number) const {
    const Part piece = composer_.piece({{}, part_}, number, pieces_);
    const Bytes first = part_ * static_cast<std::uint64_t>(rank);
    const Bytes begin = std::min(first + piece.offset, all_), end = std::min(first + part_, all_);
    return {begin, std::min(piece.bytes, end - std::min(begin, end))};
  }

  void reduce(int number) {
    const Part piece = composer_.piece({{}, part_}, number, pieces_);
    const Mail values{.use = MailUse::reduce,
                      .message = piece.bytes,
                      .stride = part_,
                      .end = all_ - std::min(all_, piece.offset)};
    composer_.exchange(
        values, [&](int rank) { return composer_.input(rank, piece.offset); },
        [&](int rank) { return composer_.output(rank, piece_of(rank, number).offset); });
  }

  // In rotated order, so that each rank receives from another one at any time.
  void share(int number) {
    std::vector<Message> messages;
    for (int distance = 1; distance < composer_.ranks(); ++distance)
      for (int from = 0; from < composer_.ranks(); ++from) {
        const int to = (from + distance) % composer_.ranks();
        const auto [offset, bytes] = piece_of(from, number);
        messages.push_back({composer_.output(from, offset), composer_.output(to, offset), bytes});
      }
    composer_.send(std::move(messages));
  }

  Composer& composer_;
  Bytes part_, all_;  // the largest part, and the message
  int pieces_;
};

bool can_twoshot_copies(const Machine& machine, const CollectiveRequest& request) {
  return can_mail(machine, request.ranks, largest_part(request));
}

}  // namespace

Algorithm twoshot_copies() {
  return {.name = "twoshot-copies",
          .sentence = "a kernel per GPU reduces its part of what comes, and copies send it on",
          .order = kRankOrder,
          .collectives = {Collective::all_reduce},
          .compose = [](Composer& composer) { TwoshotCopies(composer).compose(); },
          .can = can_twoshot_copies,
          .why_not = "messages that its mailboxes hold, and NVLink between all ranks, are needed",
          .exchanges = true,
          .in_turn = true};
}

}  // namespace polypath::collective
