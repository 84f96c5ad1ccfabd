// Of several nodes with as many ranks each. The network between them is the slowest link, so each
// byte crosses it as seldom as can be, and all adapters carry as much. With N nodes of m ranks,
// rank j of a node has part j of m of the message, and deals with those that are rank j of the
// others:
//
//   all_reduce      in each node rank j reduces part j; of that the one in node i reduces part i of
//                   N for all nodes, and gives it back; and each gives part j to its node. Each
//                   node sends and receives 2(N−1)/N of the message.
//   reduce_scatter  in each node rank j reduces what ranks j of all nodes shall have, and sends it
//                   to them, which add it up: (N−1)/N of the message.
//   all_gather      ranks j send theirs to each other, then each gives what it has to its node:
//                   (N−1)/N of the message.
//   broadcast       the root gives part j to rank j of its node; from there it goes from node to
//                   node, each of which gives it to all its ranks: the message, once.
//   reduce          in each node rank j reduces part j, and sends it to rank j of the root's node,
//                   which adds these sums up and gives the result to the root: the message, once.
//
// Pieces go through these steps one after another, so that the network is never idle but at the
// start and at the end. Values are added up in the order of the nodes (kNodeOrder).

#include "collective/algorithms/node_ranks.h"

namespace polypath::collective {

namespace {

class AllReduceOfNodes : NodeStages {
 public:
  explicit AllReduceOfNodes(Composer& composer)
      : NodeStages(composer), pieces_(composer.pieces(part(0).bytes)) {}

  void compose() {
    keep_own();
    const std::vector<std::function<void(int)>> steps = {
        [this](int piece) { reduce_in_nodes(piece); },
        [this](int piece) { reduce_between_nodes(piece); },
        [this](int piece) { give_between_nodes(piece); },
        [this](int piece) { give_in_nodes(piece); }};
    pipeline(pieces_, steps);
  }

 private:
  [[nodiscard]] Part part(int local) const { return composer_.part(local, local_); }
  [[nodiscard]] Part piece_of(int local, int piece) const {
    return composer_.piece(part(local), piece, pieces_);
  }
  [[nodiscard]] Part share_of(int local, int piece, int node) const {
    return composer_.piece(piece_of(local, piece), node % nodes_, nodes_);
  }
  [[nodiscard]] Slice output(int node, int local, const Part& part) const {
    return composer_.output(rank(node, local), part.offset);
  }

  // A node of one rank has nothing to add up.
  void keep_own() {
    if (local_ > 1 && !keeps_own()) return;
    for (int node = 0; node < nodes_; ++node)
      for (int local = 0; local < local_; ++local)
        composer_.copy(composer_.input(rank(node, local), part(local).offset),
                       output(node, local, part(local)), part(local).bytes);
  }

  void reduce_in_nodes(int piece) {
    if (local_ == 1) return;
    Rounds rounds;
    std::vector<std::vector<Operand>> operands;
    for (int node = 0; node < nodes_; ++node)
      for (int local = 0; local < local_; ++local)
        operands.push_back(collect(node, local, piece_of(local, piece),
                                   output(node, local, piece_of(local, piece)), rounds));
    send(std::move(rounds));
    for (int number = 0; number < nodes_ * local_; ++number) {
      const Part part = piece_of(number % local_, piece);
      fold(composer_, operands[static_cast<std::size_t>(number)], part.bytes,
           output(number / local_, number % local_, part));
    }
  }

  // Every rank sends at any time, and every rank receives.
  void reduce_between_nodes(int piece) {
    std::vector<Sums> sums(static_cast<std::size_t>(composer_.ranks()));
    for (int node = 0; node < nodes_; ++node)
      for (int local = 0; local < local_; ++local)
        sums_of(sums, node, local)[node] = output(node, local, share_of(local, piece, node));
    for (int distance = 1; distance < nodes_; ++distance) {
      std::vector<Message> messages;
      for (int node = 0; node < nodes_; ++node)
        for (int local = 0; local < local_; ++local) {
          const int to = (node + distance) % nodes_;
          const Part share = share_of(local, piece, to);
          if (share.bytes.value == 0) continue;
          const Slice at = composer_.slot(rank(node, local), rank(to, local), share.bytes);
          messages.push_back({output(node, local, share), at, share.bytes});
          sums_of(sums, to, local)[node] = at;
        }
      composer_.send(std::move(messages));
    }
    for (int node = 0; node < nodes_; ++node)
      for (int local = 0; local < local_; ++local)
        if (const Part share = share_of(local, piece, node); share.bytes.value > 0)
          add_up(sums_of(sums, node, local), share.bytes, output(node, local, share));
  }

  void give_between_nodes(int piece) {
    std::vector<Message> messages;
    for (int distance = 1; distance < nodes_; ++distance)
      for (int node = 0; node < nodes_; ++node)
        for (int local = 0; local < local_; ++local) {
          const Part share = share_of(local, piece, node);
          messages.push_back(
              {output(node, local, share), output(node + distance, local, share), share.bytes});
        }
    composer_.send(std::move(messages));
  }

  void give_in_nodes(int piece) {
    std::vector<Message> messages;
    for (int distance = 1; distance < local_; ++distance)
      for (int node = 0; node < nodes_; ++node)
        for (int local = 0; local < local_; ++local) {
          const Part part = piece_of(local, piece);
          messages.push_back({output(node, local, part),
                              output(node, (local + distance) % local_, part), part.bytes});
        }
    composer_.send(std::move(messages));
  }

  int pieces_;
};

// Each item is a piece of what all nodes shall have that are so far away, so that all adapters are
// busy; that of the own node first, and with the last one all are added up.
class ReduceScatterOfNodes : NodeStages {
 public:
  explicit ReduceScatterOfNodes(Composer& composer)
      : NodeStages(composer), pieces_(composer.pieces(composer.request().part())) {}

  void compose() {
    keep_own();
    sums_.resize(static_cast<std::size_t>(pieces_) * static_cast<std::size_t>(nodes_));
    arrived_.resize(static_cast<std::size_t>(pieces_));
    for (auto& each : arrived_) each.resize(static_cast<std::size_t>(composer_.ranks()));
    const std::vector<std::function<void(int)>> steps = {
        [this](int item) { reduce_in_nodes(item); },
        [this](int item) { reduce_between_nodes(item); }};
    pipeline(pieces_ * nodes_, steps);
  }

 private:
  [[nodiscard]] int distance_of(int item) const { return (item + 1) % nodes_; }
  [[nodiscard]] Part piece_of(int item) const {
    return composer_.piece({{}, composer_.request().part()}, item / nodes_, pieces_);
  }
  // The bytes that a rank shall have, in the inputs.
  [[nodiscard]] Part part_for(int rank, const Part& piece) const {
    return {composer_.request().start_of(rank) + piece.offset, piece.bytes};
  }

  void keep_own() {
    if (local_ > 1 && !keeps_own()) return;
    const Part whole{{}, composer_.request().part()};
    for (int rank = 0; rank < composer_.ranks(); ++rank)
      composer_.copy(composer_.input(rank, part_for(rank, whole).offset), composer_.output(rank),
                     whole.bytes);
  }

  void reduce_in_nodes(int item) {
    const Part piece = piece_of(item);
    const int distance = distance_of(item);
    auto& sums = sums_[static_cast<std::size_t>(item)];
    if (local_ == 1) return sum_of_one(piece, distance, sums);
    Rounds rounds;
    std::vector<std::vector<Operand>> operands;
    std::vector<std::optional<Slice>> results;
    for (int node = 0; node < nodes_; ++node)
      for (int local = 0; local < local_; ++local) {
        const int target = rank(node + distance, local);
        std::optional<Slice> result;
        if (distance == 0) result = composer_.output(target, piece.offset);
        operands.push_back(collect(node, local, part_for(target, piece), result, rounds));
        results.push_back(result);
      }
    send(std::move(rounds));
    for (std::size_t i = 0; i < operands.size(); ++i)
      sums.push_back(fold(composer_, operands[i], piece.bytes, results[i]));
  }

  void sum_of_one(const Part& piece, int distance, std::vector<Slice>& sums) const {
    for (int node = 0; node < nodes_; ++node)
      sums.push_back(
          composer_.input(rank(node, 0), part_for(rank(node + distance, 0), piece).offset));
  }

  void reduce_between_nodes(int item) {
    const Part piece = piece_of(item);
    const int distance = distance_of(item);
    auto& arrived = arrived_[static_cast<std::size_t>(item / nodes_)];
    std::vector<Message> messages;
    for (int node = 0; node < nodes_; ++node)
      for (int local = 0; local < local_; ++local) {
        const int from = rank(node, local), to = rank(node + distance, local);
        const Slice at = distance == 0 ? composer_.output(to, piece.offset)
                                       : composer_.slot(from, to, piece.bytes);
        sums_of(arrived, node + distance, local)[node] = at;
        if (distance > 0)
          messages.push_back(
              {sums_[static_cast<std::size_t>(item)][messages.size()], at, piece.bytes});
      }
    composer_.send(std::move(messages));
    if (distance > 0) return;
    for (int node = 0; node < nodes_; ++node)
      for (int local = 0; local < local_; ++local)
        add_up(sums_of(arrived, node, local), piece.bytes,
               composer_.output(rank(node, local), piece.offset));
  }

  int pieces_;
  std::vector<std::vector<Slice>> sums_;    // by item, of each rank
  std::vector<std::vector<Sums>> arrived_;  // by piece, at each rank
};

void compose_nodes(Composer& composer) {
  switch (composer.request().collective) {
    case Collective::reduce_scatter: return ReduceScatterOfNodes(composer).compose();
    case Collective::all_gather: return compose_all_gather_of_nodes(composer);
    case Collective::broadcast: return compose_broadcast_of_nodes(composer);
    case Collective::reduce: return compose_reduce_of_nodes(composer);
    default: return AllReduceOfNodes(composer).compose();
  }
}

}  // namespace

Algorithm across_nodes() {
  return {.name = "nodes",
          .sentence = "each node reduces, equal ranks of all nodes exchange, each node spreads it",
          .order = kNodeOrder,
          .collectives = {Collective::all_reduce, Collective::reduce_scatter,
                          Collective::all_gather, Collective::broadcast, Collective::reduce},
          .compose = compose_nodes,
          .radices = {2, 1},
          .can = nodes_are_alike,
          .why_not = "it needs several nodes, with as many ranks each",
          .fewest_slots = 2};
}

}  // namespace polypath::collective
