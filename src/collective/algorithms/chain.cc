// From rank to rank, or from one group of neighbours to the next: algorithms that keep to the fixed
// order where not all ranks are joined.
//
// Ranks are cut into **segments** of consecutive ones: the groups of the fixed order if there are
// several (fixed_order.h); else those that are close to each other (groups.h), or with a radix
// above 2 of the same one of several nodes, of at most as many as the radix says. Each
// part of the message has an owner in each segment. The owner in the first one reduces the values
// of its segment; the one in the next adds those of its own to that sum; and so on. The last one
// has the result, and gives it to its segment and back to the owner before it, which does the same.
// So between two segments the message goes once each way, piece after piece and both ways at the
// same time; within a segment of m ranks each sends and receives about 2(m−1)/m of it. Messages may
// go by way of hosts (Tuning::by_hosts), between sockets for instance.

#include <algorithm>
#include <map>

#include "collective/algorithms/algorithm.h"
#include "collective/algorithms/fixed_order.h"
#include "collective/algorithms/groups.h"

namespace polypath::collective {
namespace {

// Ranks from `first` to before `end`.
struct Segment {
  int first = 0, end = 0;
  [[nodiscard]] int size() const { return end - first; }
  [[nodiscard]] bool has(int rank) const { return first <= rank && rank < end; }
};

// By rank: the number of its group of close ranks.
std::vector<int> group_numbers(const Composer& composer) {
  const auto& ranks = composer.request().ranks;
  std::vector<int> group(ranks.size());
  if (composer.machine().nodes() > 1 && composer.tuning().radix > 2) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      group[rank] = composer.machine().place(ranks[rank]).node;
    return group;
  }
  const auto groups = groups_of(composer.machine(), composer.request().ranks);
  for (std::size_t number = 0; number < groups.size(); ++number)
    for (const int rank : groups[number])
      group[static_cast<std::size_t>(rank)] = static_cast<int>(number);
  return group;
}

std::vector<Segment> segments_of(const Composer& composer,
                                 const std::vector<std::vector<int>>& order) {
  if (order.size() > 1) {
    std::vector<Segment> segments;
    for (const auto& group : order) segments.push_back({group.front(), group.back() + 1});
    return segments;
  }
  const std::vector<int> group = group_numbers(composer);
  std::vector<Segment> segments = {{0, 1}};
  for (int rank = 1; rank < composer.ranks(); ++rank) {
    Segment& last = segments.back();
    const auto next = static_cast<std::size_t>(rank);
    if (group[next] == group[next - 1] && last.size() < composer.tuning().radix) ++last.end;
    else segments.push_back({rank, rank + 1});
  }
  return segments;
}

class RankChain {
 public:
  explicit RankChain(Composer& composer)
      : composer_(composer),
        collective_(composer.request().collective),
        order_(order_groups(composer.machine(), composer.request())),
        segments_(segments_of(composer, order_)),
        parts_(in_blocks() ? composer.ranks() : largest_segment()),
        at_once_(smallest_segment()),
        pieces_(composer.pieces(part(0).bytes)) {}

  void compose() {
    for (int number = 0; number < parts_; ++number) keep_own(number);
    std::vector<std::function<void(int)>> steps;
    for (int segment = 0; segment <= last(); ++segment)
      steps.emplace_back([this, segment](int item) { reduce(item, segment); });
    if (collective_ == Collective::all_reduce)
      for (int segment = last(); segment >= 0; --segment)
        steps.emplace_back([this, segment](int item) { give(item, segment); });
    else steps.emplace_back([this](int item) { give_to_target(item); });
    const int items = pieces_ * rounds();
    sums_.resize(static_cast<std::size_t>(items));
    pipeline(items, steps);
  }

 private:
  [[nodiscard]] bool in_blocks() const { return collective_ == Collective::reduce_scatter; }
  [[nodiscard]] int last() const { return static_cast<int>(segments_.size()) - 1; }
  [[nodiscard]] const Segment& segment(int number) const {
    return segments_[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] int largest_segment() const {
    int most = 0;
    for (const Segment& each : segments_) most = std::max(most, each.size());
    return most;
  }
  [[nodiscard]] int smallest_segment() const {
    int least = composer_.ranks();
    for (const Segment& each : segments_) least = std::min(least, each.size());
    return least;
  }

  // Parts that have owners of their own in every segment go at once, so that a slot holds one.
  [[nodiscard]] int rounds() const { return (parts_ + at_once_ - 1) / at_once_; }
  [[nodiscard]] int first_part(int item) const { return item % rounds() * at_once_; }
  [[nodiscard]] int end_part(int item) const {
    return std::min(first_part(item) + at_once_, parts_);
  }
  [[nodiscard]] Part part(int number) const {
    if (!in_blocks()) return composer_.part(number, parts_);
    return {composer_.request().start_of(number), composer_.request().part()};
  }
  [[nodiscard]] Part piece_of(int item, int number) const {
    return composer_.piece(part(number), item / rounds(), pieces_);
  }

  // Of what a rank shall have in the end it is the owner itself.
  [[nodiscard]] int owner(int number, int of_segment) const {
    const Segment& among = segment(of_segment);
    if (in_blocks() && among.has(number)) return number;
    return among.first + number % among.size();
  }
  // The rank that gets a part in the end, unless all ranks do.
  [[nodiscard]] int target(int number) const {
    return in_blocks() ? number : composer_.request().root;
  }
  // True if the part's owner in a segment shall have its result in its output.
  [[nodiscard]] bool ends_at(int number, int of_segment) const {
    const bool all = collective_ == Collective::all_reduce;
    return of_segment == last() && (all || owner(number, of_segment) == target(number));
  }
  // As of `flat`: its own values are in that output before others arrive.
  [[nodiscard]] bool keeps_own(int number, int of_segment) const {
    const bool in_output = composer_.request().in_place || composer_.tuning().private_memory;
    return in_output && ends_at(number, of_segment);
  }
  void keep_own(int number) {
    if (!keeps_own(number, last())) return;
    const Part own = part(number);
    const int rank = owner(number, last());
    composer_.copy(composer_.input(rank, own.offset), output(rank, own.offset), own.bytes);
  }
  [[nodiscard]] Slice output(int rank, Bytes offset) const {
    return composer_.output(rank, in_blocks() ? offset - part(rank).offset : offset);
  }

  // The sum of a part that its owner in a segment adds up.
  struct Addition {
    int number = 0;
    Part piece;
    std::vector<Operand> operands = {};
    std::optional<Slice> result = std::nullopt;
  };

  void reduce(int item, int of_segment) {
    std::vector<Message> messages;
    std::vector<Addition> additions;
    for (int number = first_part(item); number < end_part(item); ++number)
      if (const Part piece = piece_of(item, number); piece.bytes.value > 0)
        additions.push_back(
            collect({.number = number, .piece = piece}, item, of_segment, messages));
    send(std::move(messages));
    for (const auto& [number, piece, operands, result] : additions)
      sums_[static_cast<std::size_t>(item)][number] =
          fold_in_groups(composer_, groups_of_segment(of_segment), operands, piece.bytes, result);
  }

  // Of the operands: those of a group are summed up before they are added to the sum so far.
  [[nodiscard]] std::vector<std::vector<int>> groups_of_segment(int of_segment) const {
    if (order_.size() == 1 || of_segment == 0) return {{}};
    std::vector<int> own;
    for (int operand = 1; operand <= segment(of_segment).size(); ++operand) own.push_back(operand);
    return {{0}, own};
  }

  // The sum so far, and the values of the segment's ranks.
  Addition collect(Addition of, int item, int of_segment, std::vector<Message>& messages) {
    const int to = owner(of.number, of_segment);
    const bool kept = keeps_own(of.number, of_segment);
    if (ends_at(of.number, of_segment)) of.result = output(to, of.piece.offset);
    bool in_output = of.result && !kept;
    const auto receive = [&](int from, Slice values) {
      const Slice at = in_output ? *of.result : composer_.slot(from, to, of.piece.bytes);
      in_output = false;
      messages.push_back({values, at, of.piece.bytes});
      of.operands.push_back({at, true});
    };
    if (of_segment > 0) receive(owner(of.number, of_segment - 1), sum(item, of.number));
    for (int rank = segment(of_segment).first; rank < segment(of_segment).end; ++rank)
      if (rank != to) receive(rank, composer_.input(rank, of.piece.offset));
      else of.operands.push_back({kept ? *of.result : composer_.input(to, of.piece.offset), kept});
    return of;
  }

  [[nodiscard]] Slice sum(int item, int number) const {
    return sums_[static_cast<std::size_t>(item)].at(number);
  }

  void give(int item, int of_segment) {
    std::vector<Message> messages;
    for (int number = first_part(item); number < end_part(item); ++number) {
      const Part piece = piece_of(item, number);
      if (piece.bytes.value == 0) continue;
      const int from = owner(number, of_segment);
      const auto send = [&](int to) {
        messages.push_back({output(from, piece.offset), output(to, piece.offset), piece.bytes});
      };
      if (of_segment > 0) send(owner(number, of_segment - 1));
      for (int rank = segment(of_segment).first; rank < segment(of_segment).end; ++rank)
        if (rank != from) send(rank);
    }
    this->send(std::move(messages));
  }

  void give_to_target(int item) {
    std::vector<Message> messages;
    for (int number = first_part(item); number < end_part(item); ++number)
      if (const Part piece = piece_of(item, number); piece.bytes.value > 0)
        if (const int to = target(number); owner(number, last()) != to)
          messages.push_back({sum(item, number), output(to, piece.offset), piece.bytes});
    send(std::move(messages));
  }

  void send(std::vector<Message> messages) {
    for (Message& each : messages) each.where_faster = composer_.tuning().by_hosts;
    composer_.send(std::move(messages));
  }

  Composer& composer_;
  Collective collective_;
  std::vector<std::vector<int>> order_;
  std::vector<Segment> segments_;
  int parts_;
  int at_once_;
  int pieces_;
  std::vector<std::map<int, Slice>> sums_;  // by item and part, the sum so far
};

bool has_segments(const Machine& machine, const CollectiveRequest& request) {
  const auto groups = order_groups(machine, request);
  return std::ranges::all_of(groups, [](const std::vector<int>& group) {
    return group.back() - group.front() + 1 == static_cast<int>(group.size());
  });
}

}  // namespace

Algorithm chain() {
  return {.name = "chain",
          .sentence = "sums go from one group of neighbours to the next, and results back",
          .order = kFixedOrder,
          .collectives = {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter},
          .compose = [](Composer& composer) { RankChain(composer).compose(); },
          .radices = {1, 2, 4},
          .can = has_segments,
          .why_not = "the groups of the fixed order are no ranges of ranks",
          .fewest_slots = 2,
          .may_go_by_hosts = true,
          .may_take_turns = true};
}

}  // namespace polypath::collective
