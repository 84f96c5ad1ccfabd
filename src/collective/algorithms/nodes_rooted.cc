// What the algorithm `nodes` (nodes.cc) does with a root. The ranks of each node that deal with a
// part of the message are its owners. Where a root's copies share a port the root owns none: else
// what it gives its owners, or gets from them, and its own part would go through the port twice.

#include <algorithm>

#include "collective/algorithms/node_ranks.h"
#include "collective/trees/index_of.h"

namespace polypath::collective {
namespace {

class RootedStages : protected NodeStages {
 public:
  RootedStages(Composer& composer, bool root_owns)
      : NodeStages(composer), root_(composer.request().root) {
    const bool without_root = !root_owns && local_ > 2;
    for (int node = 0; node < nodes_; ++node)
      for (int local = 0; local < local_; ++local)
        if (rank(node, local) == root_) first_ = node, local_of_root_ = local;
    for (int local = 0; local < local_; ++local)
      if (!without_root || rank(first_, local) != root_) owners_.push_back(local);
    pieces_ = composer.pieces(part(0).bytes);
  }

 protected:
  [[nodiscard]] int parts() const { return static_cast<int>(owners_.size()); }
  [[nodiscard]] int local(int number) const { return owners_[index_of(number)]; }
  [[nodiscard]] int owner(int node, int number) const { return rank(node, local(number)); }
  [[nodiscard]] Part part(int number) const { return composer_.part(number, parts()); }
  [[nodiscard]] Part piece_of(int number, int piece) const {
    return composer_.piece(part(number), piece, pieces_);
  }

  int root_;
  int first_ = 0;  ///< the root's node
  int local_of_root_ = 0;
  int pieces_ = 1;

 private:
  std::vector<int> owners_;
};

// From node to node, counted from the root's on.
class BroadcastOfNodes : RootedStages {
 public:
  explicit BroadcastOfNodes(Composer& composer) : RootedStages(composer, true) {}

  void compose() {
    composer_.copy(composer_.input(root_), composer_.output(root_), composer_.request().part());
    if (composer_.tuning().radix == 1 && local_ > 1) return go_round();
    std::vector<std::function<void(int)>> steps = {[this](int piece) { deal_out(piece); }};
    for (int away = 0; away < nodes_; ++away)
      steps.emplace_back([this, away](int piece) {
        if (away + 1 < nodes_) pass_on_all(away, piece);
        give_in_node(away, piece);
      });
    pipeline(pieces_, steps);
  }

 private:
  // The root need not wait for its own copy.
  [[nodiscard]] Slice held_by(int rank, const Part& part) const {
    return rank == root_ ? composer_.input(rank, part.offset) : composer_.output(rank, part.offset);
  }
  void send(std::vector<Message>& messages, int from, int to, const Part& part) const {
    if (to == root_ || to == from) return;
    messages.push_back({held_by(from, part), composer_.output(to, part.offset), part.bytes});
  }
  void send(int from, int to, const Part& part) const {
    std::vector<Message> messages;
    send(messages, from, to, part);
    composer_.send(std::move(messages));
  }

  void deal_out(int piece) {
    std::vector<Message> messages;
    for (int number = 0; number < parts(); ++number)
      send(messages, root_, owner(first_, number), piece_of(number, piece));
    composer_.send(std::move(messages));
  }

  void pass_on_all(int away, int piece) {
    std::vector<Message> messages;
    for (int number = 0; number < parts(); ++number)
      send(messages, owner(first_ + away, number), owner(first_ + away + 1, number),
           piece_of(number, piece));
    composer_.send(std::move(messages));
  }

  void give_in_node(int away, int piece) {
    std::vector<Message> messages;
    for (int distance = 1; distance < local_; ++distance)
      for (int number = 0; number < parts(); ++number)
        send(messages, owner(first_ + away, number),
             rank(first_ + away, (local(number) + distance) % local_), piece_of(number, piece));
    composer_.send(std::move(messages));
  }

  static constexpr int kFewRanks = 4;

  // With radix 1: from rank to rank in each node, in the root's from the root on, in others from
  // each part's owner on. Each rank is sent to by one only, and the root's port carries the message
  // once. Items are the parts of a piece that others own, the one first whose owner is the furthest
  // from the root. The root's own part is on the network from the start, and is the last one to go
  // round its node.
  void go_round() {
    std::vector<std::function<void(int)>> steps;
    for (int step = 0; step < 3 * (local_ - 1) + nodes_; ++step)
      steps.emplace_back([this, step](int item) { go_on(item, step); });
    pipeline(pieces_ * local_, steps);
  }

  void go_on(int item, int step) {
    const int others = local_ - 1, piece = item / others;
    if (piece >= pieces_)
      return pass_in_node(first_, local_of_root_ + step, step,
                          piece_of(local_of_root_, item - pieces_ * others));
    const int from_root = others - item % others;
    const int own = (local_of_root_ + from_root) % local_;
    pass_in_node(first_, local_of_root_ + step, step, piece_of(own, piece));
    go_to_nodes(own, piece, step - from_root);
    if (item % others == 0) go_to_nodes(local_of_root_, piece, step);
  }

  // From owner to owner, a node each step. In a large node a rank passes a piece on every other
  // step: before it does, it sends its own part of the next one, as each waits for what it passes
  // on. Of 256 MiB two nodes of eight ranks lose 11 % without, of 16 MiB two of four gain 1.4 %.
  void go_to_nodes(int own, int piece, int step) const {
    const Part part = piece_of(own, piece);
    const int stride = local_ > kFewRanks ? 2 : 1;
    for (int away = 1; away < nodes_; ++away) {
      const int later = step - away;
      if (later == -1) send(rank(first_ + away - 1, own), rank(first_ + away, own), part);
      if (later % stride == 0)
        pass_in_node(first_ + away, own + later / stride, later / stride, part);
    }
  }
  void pass_in_node(int node, int from, int passed, const Part& part) const {
    if (passed < 0 || passed + 1 >= local_) return;
    send(rank(node, from % local_), rank(node, (from + 1) % local_), part);
  }
};

// Each owner sums up its part in its node; that of the root's node adds these sums up.
class ReduceOfNodes : RootedStages {
 public:
  explicit ReduceOfNodes(Composer& composer)
      : RootedStages(composer, false), sums_(index_of(pieces_)) {
    for (auto& each : sums_) each.resize(index_of(parts()));
  }

  void compose() {
    const std::vector<std::function<void(int)>> steps = {
        [this](int item) { reduce_in_nodes(item); },
        [this](int item) { reduce_between_nodes(item); }};
    pipeline(pieces_ + kBehind, steps);
  }

 private:
  // Sums go to the root together with what is collected so many pieces later.
  static constexpr int kBehind = 2;

  [[nodiscard]] Sums& sums(int piece, int number) {
    return sums_[index_of(piece)][index_of(number)];
  }

  void reduce_in_nodes(int item) {
    Rounds rounds;
    if (item >= kBehind) give_to_root(item - kBehind, rounds);
    if (item < pieces_) collect_piece(item, rounds);
    else send(std::move(rounds));
  }

  void collect_piece(int piece, Rounds& rounds) {
    std::vector<std::vector<Operand>> operands;
    for (int node = 0; node < nodes_; ++node)
      for (int number = 0; number < parts(); ++number)
        operands.push_back(
            collect(node, local(number), piece_of(number, piece), std::nullopt, rounds));
    send(std::move(rounds));
    for (int node = 0; node < nodes_; ++node)
      for (int number = 0; number < parts(); ++number)
        sums(piece, number)[node] = fold(composer_, operands[index_of(node * parts() + number)],
                                         piece_of(number, piece).bytes);
  }

  // What has arrived last becomes the sum of all: slots of the own node are asked for again soon.
  // A node of one rank has its values in the caller's memory, which may not change.
  void reduce_between_nodes(int piece) {
    if (piece >= pieces_) return;
    std::vector<Message> messages;
    for (int away = 1; away < nodes_; ++away)
      for (int number = 0; number < parts(); ++number) {
        const int node = (first_ + away) % nodes_;
        const Part part = piece_of(number, piece);
        const Slice at = composer_.slot(owner(node, number), owner(first_, number), part.bytes);
        messages.push_back({sums(piece, number)[node], at, part.bytes});
        sums(piece, number)[node] = at;
      }
    composer_.send(std::move(messages));
    for (int number = 0; number < parts(); ++number) {
      std::vector<Operand> operands;
      for (const auto& [node, at] : sums(piece, number))
        operands.push_back({at, local_ > 1 || node != first_});
      fold(composer_, operands, piece_of(number, piece).bytes, result(piece, number));
    }
  }

  [[nodiscard]] Slice result(int piece, int number) {
    return sums(piece, number)[(first_ + nodes_ - 1) % nodes_];
  }

  void give_to_root(int piece, Rounds& rounds) {
    for (int number = 0; number < parts(); ++number) {
      const Part part = piece_of(number, piece);
      rounds[ahead(local(number), local_of_root_)].push_back(
          {result(piece, number), composer_.output(root_, part.offset), part.bytes});
    }
  }

  std::vector<std::vector<Sums>> sums_;  // by piece and part, of each node
};

}  // namespace

void compose_broadcast_of_nodes(Composer& composer) { BroadcastOfNodes(composer).compose(); }

void compose_reduce_of_nodes(Composer& composer) { ReduceOfNodes(composer).compose(); }

}  // namespace polypath::collective
