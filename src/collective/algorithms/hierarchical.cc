// The three-stage algorithm of 003, in groups of GPUs that are close to each other: (1) the members
// of a group send their values to its leader, which reduces them, (2) the leaders reduce theirs
// among each other, each its part, and exchange the results, (3) the leaders give the result to
// their members. Pieces go through the stages one after another, so that all links are busy at the
// same time.

#include "collective/algorithms/algorithm.h"
#include "collective/algorithms/groups.h"

namespace polypath::collective {
namespace {

class Hierarchical {
 public:
  explicit Hierarchical(Composer& composer)
      : composer_(composer),
        groups_(groups_of(composer.machine(), composer.request().ranks)),
        pieces_(composer.pieces(composer.request().part())) {}

  void compose() {
    for (const auto& group : groups_)
      composer_.copy(composer_.input(group.front()), composer_.output(group.front()),
                     composer_.request().part());
    const std::vector<std::function<void(int)>> steps = {
        [this](int piece) { reduce_in_groups(piece_of(piece)); },
        [this](int piece) { reduce_among_leaders(piece_of(piece)); },
        [this](int piece) { give_to_leaders(piece_of(piece)); },
        [this](int piece) { give_to_members(piece_of(piece)); }};
    pipeline(pieces_, steps);
  }

 private:
  [[nodiscard]] Part piece_of(int piece) const {
    return composer_.piece({{}, composer_.request().part()}, piece, pieces_);
  }
  [[nodiscard]] int leaders() const { return static_cast<int>(groups_.size()); }
  [[nodiscard]] int leader(int group) const {
    return groups_[static_cast<std::size_t>(group)].front();
  }
  [[nodiscard]] Part part_of_leader(const Part& piece, int group) const {
    return composer_.piece(piece, group, leaders());
  }

  void reduce_in_groups(const Part& piece) {
    std::vector<Message> messages;
    std::vector<Slice> sums;
    for (const auto& group : groups_)
      for (std::size_t member = 1; member < group.size(); ++member) {
        messages.push_back({composer_.input(group[member], piece.offset),
                            composer_.slot(group[member], group.front(), piece.bytes),
                            piece.bytes});
        sums.push_back(composer_.output(group.front(), piece.offset));
      }
    send_and_reduce(messages, sums);
  }

  void reduce_among_leaders(const Part& piece) {
    std::vector<Message> messages;
    std::vector<Slice> sums;
    for (int distance = 1; distance < leaders(); ++distance)
      for (int from = 0; from < leaders(); ++from) {
        const int to = (from + distance) % leaders();
        const Part part = part_of_leader(piece, to);
        messages.push_back({composer_.output(leader(from), part.offset),
                            composer_.slot(leader(from), leader(to), part.bytes), part.bytes});
        sums.push_back(composer_.output(leader(to), part.offset));
      }
    send_and_reduce(messages, sums);
  }

  // Each message is added to one of the sums.
  void send_and_reduce(const std::vector<Message>& messages, const std::vector<Slice>& sums) {
    composer_.send(messages);
    for (std::size_t i = 0; i < messages.size(); ++i)
      composer_.reduce(sums[i], messages[i].to, messages[i].bytes);
  }

  void give_to_leaders(const Part& piece) {
    std::vector<Message> messages;
    for (int distance = 1; distance < leaders(); ++distance)
      for (int from = 0; from < leaders(); ++from) {
        const Part part = part_of_leader(piece, from);
        const int to = leader((from + distance) % leaders());
        messages.push_back({composer_.output(leader(from), part.offset),
                            composer_.output(to, part.offset), part.bytes});
      }
    composer_.send(std::move(messages));
  }

  void give_to_members(const Part& piece) {
    std::vector<Message> messages;
    for (const auto& group : groups_)
      for (std::size_t member = 1; member < group.size(); ++member)
        messages.push_back({composer_.output(group.front(), piece.offset),
                            composer_.output(group[member], piece.offset), piece.bytes});
    composer_.send(std::move(messages));
  }

  Composer& composer_;
  std::vector<std::vector<int>> groups_;
  int pieces_;
};

}  // namespace

Algorithm hierarchical() {
  return {.name = "hierarchical",
          .sentence = "each socket's first GPU reduces for it, these among each other, and back",
          .order = "in each group in rank order; then from the part's leader on, groups downwards",
          .collectives = {Collective::all_reduce},
          .compose = [](Composer& composer) { Hierarchical(composer).compose(); }};
}

}  // namespace polypath::collective
