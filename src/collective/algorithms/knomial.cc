// Recursive k-nomial scatter-reduce and all-gather, as in MPI libraries (001, section 5): ranks are
// numbers of m digits to the base k. In step i ranks that differ in digit i only divide what they
// have among them; each reduces its part of it, and after m steps has 1/kᵐ of the message. Then
// back, in the opposite order. Each rank sends 2(kᵐ−1)/kᵐ of the message, to k−1 others at a time.
// Ranks beyond the kᵐ-th give all they have to a proxy first and get the result from it at last.

#include <algorithm>

#include "collective/algorithms/algorithm.h"

namespace polypath::collective {
namespace {

class KNomial {
 public:
  explicit KNomial(Composer& composer)
      : composer_(composer), radix_(std::min(composer.tuning().radix, composer.ranks())) {
    while (full_ * radix_ <= composer.ranks()) full_ *= radix_, ++digits_;
    const Part whole{{}, composer.request().part()};
    const bool all_at_once = extras() > 0;
    pieces_ = composer.pieces(all_at_once ? whole.bytes : composer.part(0, radix_).bytes);
  }

  void compose() {
    for (int rank = 0; rank < full_; ++rank) copy_own(rank);
    std::vector<std::function<void(int)>> steps;
    if (extras() > 0) steps.emplace_back([this](int piece) { take_from_extras(piece); });
    for (int digit = 0; digit < digits_; ++digit)
      steps.emplace_back([this, digit](int piece) { reduce(piece, digit); });
    for (int digit = digits_ - 1; digit >= 0; --digit)
      steps.emplace_back([this, digit](int piece) { gather(piece, digit); });
    if (extras() > 0) steps.emplace_back([this](int piece) { give_to_extras(piece); });
    pipeline(pieces_, steps);
  }

 private:
  [[nodiscard]] int extras() const { return composer_.ranks() - full_; }
  [[nodiscard]] int power(int digit) const {
    int value = 1;
    while (digit-- > 0) value *= radix_;
    return value;
  }
  [[nodiscard]] int digit_of(int rank, int digit) const { return rank / power(digit) % radix_; }
  [[nodiscard]] Part piece_of(int piece) const {
    return composer_.piece({{}, composer_.request().part()}, piece, pieces_);
  }
  // The part that only this rank has after the steps of the first `digits` digits.
  [[nodiscard]] Part range(int rank, int piece, int digits) const {
    Part part = piece_of(piece);
    for (int digit = 0; digit < digits; ++digit)
      part = composer_.piece(part, digit_of(rank, digit), radix_);
    return part;
  }
  // The rank that differs from `rank` by `distance` in a digit.
  [[nodiscard]] int peer(int rank, int digit, int distance) const {
    const int own = digit_of(rank, digit);
    return rank + ((own + distance) % radix_ - own) * power(digit);
  }

  // What a rank gives away at first goes from its input, unless extras' values are added to it. Of
  // several pieces one copy of all takes fewer calls than what is kept of each.
  void copy_own(int rank) {
    const bool all = extras() > 0 || pieces_ > 1;
    const Part own = all ? Part{{}, composer_.request().part()} : range(rank, 0, 1);
    composer_.copy(composer_.input(rank, own.offset), composer_.output(rank, own.offset),
                   own.bytes);
  }

  void take_from_extras(int number) {
    const Part piece = piece_of(number);
    std::vector<Message> messages;
    for (int extra = full_; extra < composer_.ranks(); ++extra)
      messages.push_back({composer_.input(extra, piece.offset),
                          composer_.slot(extra, proxy(extra), piece.bytes), piece.bytes});
    composer_.send(messages);
    for (int extra = full_; extra < composer_.ranks(); ++extra)
      composer_.reduce(composer_.output(proxy(extra), piece.offset),
                       messages[static_cast<std::size_t>(extra - full_)].to, piece.bytes);
  }
  [[nodiscard]] int proxy(int extra) const { return (extra - full_) % full_; }

  // Bytes that are sent unchanged need not wait for a rank's own copy.
  [[nodiscard]] Slice values(int rank, int digit, Bytes offset) const {
    const bool as_given = digit == 0 && extras() == 0;
    return as_given ? composer_.input(rank, offset) : composer_.output(rank, offset);
  }

  void reduce(int piece, int digit) {
    std::vector<Message> messages;
    std::vector<Slice> sums;
    for (int distance = 1; distance < radix_; ++distance)
      for (int from = 0; from < full_; ++from) {
        const int to = peer(from, digit, distance);
        const Part part = range(to, piece, digit + 1);
        messages.push_back(
            {values(from, digit, part.offset), composer_.slot(from, to, part.bytes), part.bytes});
        sums.push_back(composer_.output(to, part.offset));
      }
    composer_.send(messages);
    for (std::size_t i = 0; i < messages.size(); ++i)
      composer_.reduce(sums[i], messages[i].to, messages[i].bytes);
  }

  void gather(int piece, int digit) {
    std::vector<Message> messages;
    for (int distance = 1; distance < radix_; ++distance)
      for (int from = 0; from < full_; ++from) {
        const int to = peer(from, digit, distance);
        const Part part = range(from, piece, digit + 1);
        messages.push_back(
            {composer_.output(from, part.offset), composer_.output(to, part.offset), part.bytes});
      }
    composer_.send(std::move(messages));
  }

  void give_to_extras(int number) {
    const Part piece = piece_of(number);
    std::vector<Message> messages;
    for (int extra = full_; extra < composer_.ranks(); ++extra)
      messages.push_back({composer_.output(proxy(extra), piece.offset),
                          composer_.output(extra, piece.offset), piece.bytes});
    composer_.send(std::move(messages));
  }

  Composer& composer_;
  int radix_;
  int full_ = 1, digits_ = 0;
  int pieces_ = 1;
};

}  // namespace

Algorithm knomial() {
  return {
      .name = "knomial",
      .sentence = "halves, or k-ths, of the message are exchanged and reduced, then put together",
      .order = "digit by digit of the rank, each from the part's owner on downwards",
      .collectives = {Collective::all_reduce},
      .compose = [](Composer& composer) { KNomial(composer).compose(); },
      .radices = {2, 3, 4, 8}};
}

}  // namespace polypath::collective
