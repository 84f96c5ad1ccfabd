// Along trees that are packed onto the links (collective/trees): each part of the message has some,
// and each of these a share of it, so that the busiest link is free as early as possible. Bytes
// for all go from the root outwards, sums from the leaves inwards; blocks for one rank go along a
// path. On meshes with missing links ranks hand on what others need, and over a narrow link between
// two groups each byte goes once.
//
// `trees` sums up as its trees have it. `grouped` keeps to the fixed order: the values of a group
// meet at one of its ranks, the groups' sums at one of these.
//
// Pieces go level by level. A message that may not go to its rank's own memory yet has a place in
// a slot of its link, one slot for each piece; what a piece has there is read one step later at the
// latest, long before the slot's turn comes again.

#include <algorithm>
#include <map>
#include <utility>

#include "collective/algorithms/algorithm.h"
#include "collective/algorithms/fixed_order.h"
#include "collective/algorithms/node_ranks.h"
#include "collective/program/routes.h"
#include "collective/trees/index_of.h"
#include "collective/trees/levels.h"
#include "kernels/reduce_layout.h"

namespace polypath::collective {
namespace {

// Pieces, and parts of them, begin at multiples, which kernels read faster; small ones do not.
constexpr Bytes kTreeGrain = 256_B, kSmallestAligned = 4_KiB;

Bytes rounded_up(Bytes bytes) {
  return kTreeGrain * ((bytes.value + kTreeGrain.value - 1) / kTreeGrain.value);
}

/// What a tree carries: a stretch of each piece of a block.
struct Planted {
  Tree tree;
  bool inwards;
  int from, to;       ///< the ranks whose block it is: in the input of one, in the output of one
  Part block;         ///< the bytes of all trees of its demand, from 0 on
  double begin, end;  ///< of each piece of the block, as a part of it
};

using Demands = std::vector<TreeDemand>;

// Of an all-reduce sums first, and then their results: each by itself, so that links are used as
// evenly while pieces are summed up as they are while results are given back.
std::vector<Demands> demands_of(const CollectiveRequest& request) {
  using Kind = TreeDemand::Kind;
  const Collective collective = request.collective;
  Demands sums, shared;
  if (has_root(collective)) {
    const Kind kind = reduces(collective) ? Kind::sum : Kind::to_all;
    return {{{.kind = kind, .root = request.root}}};
  }
  for (int root = 0; root < request.size(); ++root) {
    if (reduces(collective)) sums.push_back({.kind = Kind::sum, .root = root});
    if (collective == Collective::all_gather || collective == Collective::all_reduce)
      shared.push_back({.root = root});
    for (int target = 0; target < request.size() && collective == Collective::all_to_all; ++target)
      if (target != root) shared.push_back({.kind = Kind::to_one, .root = root, .target = target});
  }
  return {sums, shared};
}

// Messages that go on where another one ends, at both sides, are one with it.
std::vector<Message> joined(const std::vector<Message>& messages) {
  std::vector<Message> fewer;
  fewer.reserve(messages.size());
  for (const Message& each : messages) {
    if (each.bytes.value == 0) continue;
    const auto before = std::ranges::find_if(fewer, [&](const Message& other) {
      return other.by == each.by && other.from.buffer == each.from.buffer &&
             other.to.buffer == each.to.buffer &&
             other.from.offset + other.bytes == each.from.offset &&
             other.to.offset + other.bytes == each.to.offset;
    });
    if (before == fewer.end()) fewer.push_back(each);
    else before->bytes += each.bytes;
  }
  return fewer;
}

class AlongTrees {
 public:
  AlongTrees(Composer& composer, const std::vector<std::vector<int>>& groups)
      : composer_(composer),
        request_(composer.request()),
        through_slots_(composer.tuning().private_memory ||
                       (request_.in_place && request_.collective == Collective::all_to_all)) {
    plant(groups);
    for (const Planted& each : planted_) levels_.add(each.tree, each.inwards);
    cut();
    places_.resize(index_of(pieces_) * planted_.size());
    for (int piece = 0; piece < pieces_; ++piece)
      for (const Planted& each : planted_) stretches_.push_back(stretch(each, piece));
  }

  void compose() {
    keep_own();
    std::vector<std::function<void(int)>> steps;
    for (int depth = levels_.depth(true); depth > 0; --depth)
      steps.emplace_back([this, depth](int piece) { gather(piece, depth); });
    if (composer_.tuning().in_phases) pipeline(pieces_, std::exchange(steps, {}));
    for (int depth = 1; depth <= levels_.depth(false); ++depth)
      steps.emplace_back([this, depth](int piece) { spread(piece, depth); });
    pipeline(pieces_, steps);
  }

 private:
  void plant(const std::vector<std::vector<int>>& groups) {
    for (Demands& demands : demands_of(request_)) {
      if (demands.empty()) continue;
      const PackingRequest wanted{.ranks = request_.ranks,
                                  .demands = std::move(demands),
                                  .groups = groups,
                                  .most_trees = most_trees(),
                                  .by_hosts = composer_.tuning().by_hosts};
      const Packing packing = composer_.pack(wanted);
      for (std::size_t k = 0; k < packing.size(); ++k) plant(wanted.demands[k], packing[k]);
    }
  }
  // A root that gives each other rank an equal part, for these to hand on, needs as many.
  [[nodiscard]] int most_trees() const {
    const int radix = composer_.tuning().radix;
    return has_root(request_.collective) && radix == 1 ? request_.size() - 1 : radix;
  }
  void plant(const TreeDemand& demand, const std::vector<TreeShare>& trees) {
    const bool to_one = demand.kind == TreeDemand::Kind::to_one;
    double begin = 0;
    for (const TreeShare& each : trees) {
      planted_.push_back({each.tree, demand.kind == TreeDemand::Kind::sum, demand.root,
                          to_one ? demand.target : demand.root, block_of(demand.root), begin,
                          begin + each.share});
      begin += each.share;
    }
    planted_.back().end = 1;
  }

  // Where a block is in a message that has all of them.
  [[nodiscard]] Part block_of(int rank) const {
    if (request_.collective == Collective::all_reduce) return composer_.part(rank, request_.size());
    if (has_root(request_.collective)) return {{}, request_.part()};
    return {request_.start_of(rank), request_.part()};
  }

  // As many pieces as slots need, if there are any, and no more places than one has room for.
  void cut() {
    Bytes most = std::max(most_carried(true), request_.element());
    if (most == request_.element()) most = std::max(most, most_carried(false));
    pieces_ = composer_.pieces(most);
    const Bytes element = request_.element(), piece = composer_.tuning().piece;
    while (lay_out() > piece && element * index_of(pieces_) < most)
      pieces_ = composer_.pieces(piece * index_of(pieces_) + element);
  }

  // The bytes that go over the busiest link, of messages by way of slots or of all.
  [[nodiscard]] Bytes most_carried(bool by_slots) const {
    std::map<std::pair<int, int>, double> carried;
    double most = 0;
    for (const Planted& each : planted_)
      for_edges(each, [&](int vertex, int from, int to) {
        if (by_slots && !needs_slot(each, vertex)) return;
        double& bytes = carried[{from, to}];
        bytes += each.block.bytes.real() * (each.end - each.begin);
        most = std::max(most, bytes);
      });
    return Bytes{static_cast<std::uint64_t>(most)};
  }

  template <class Action>
  void for_edges(const Planted& of, Action action) const {
    for (int number = 1; number < static_cast<int>(of.tree.vertices().size()); ++number) {
      const Vertex& vertex = of.tree.vertex(number);
      const int parent = of.tree.vertex(vertex.parent).rank;
      if (vertex.rank == parent) continue;
      if (of.inwards) action(number, vertex.rank, parent);
      else action(number, parent, vertex.rank);
    }
  }

  // Gives each message that needs one its place in a slot; returns how full the fullest is.
  Bytes lay_out() {
    std::map<std::pair<int, int>, Bytes> used;
    offsets_.assign(planted_.size(), {});
    Bytes fullest;
    for (std::size_t i = 0; i < planted_.size(); ++i) {
      Bytes largest;
      for (int piece = 0; piece < pieces_; ++piece)
        largest = std::max(largest, stretch(planted_[i], piece).bytes);
      offsets_[i].resize(planted_[i].tree.vertices().size());
      for_edges(planted_[i], [&](int vertex, int from, int to) {
        if (!needs_slot(planted_[i], vertex)) return;
        Bytes& end = used[{from, to}];
        offsets_[i][index_of(vertex)] = end;
        end += largest < kTreeGrain ? largest : rounded_up(largest);
        fullest = std::max(fullest, end);
      });
    }
    return fullest;
  }

  // A sum that is made elsewhere, which its root adds nothing to.
  [[nodiscard]] bool ends_at_root(const Planted& of, int vertex) const {
    if (!of.inwards || of.tree.vertex(0).takes_part || of.tree.vertex(vertex).parent != 0)
      return false;
    return std::ranges::count(of.tree.vertices(), 0, &Vertex::parent) == 1;
  }

  [[nodiscard]] bool needs_slot(const Planted& of, int vertex) const {
    if (!through_slots_ && ends_at_root(of, vertex)) return false;
    return through_slots_ || of.inwards || !of.tree.vertex(vertex).takes_part;
  }

  [[nodiscard]] Part range_of(const Part& block, int piece) const {
    if (block.bytes < kSmallestAligned * index_of(pieces_))
      return composer_.piece(block, piece, pieces_);
    const Bytes rest{block.bytes.value % kTreeGrain.value};
    Part range = part_of({{}, block.bytes - rest}, piece, pieces_, kTreeGrain);
    if (piece + 1 == pieces_) range.bytes += rest;
    return range;
  }

  // The bytes of a piece of the block that go along a tree.
  [[nodiscard]] Part stretch(const Planted& of, int piece) const {
    const Part range = range_of({{}, of.block.bytes}, piece);
    const auto boundary = [&](double part) {
      if (part >= 1) return range.bytes;
      const auto bytes = static_cast<std::uint64_t>(range.bytes.real() * part);
      return kTreeGrain * (bytes / kTreeGrain.value);
    };
    const Bytes begin = boundary(of.begin), end = boundary(of.end);
    return {range.offset + begin, end - begin};
  }

  // In the slot of a link that a piece has: they go round in the order of the pieces, also where
  // one has nothing to send there at first.
  [[nodiscard]] Slice slot_of(std::size_t tree, int vertex, int piece, int from, int to,
                              Bytes bytes) {
    if (bytes.value == 0) return {};
    auto& slots = slots_[{from, to}];
    while (slots.size() <= index_of(piece)) slots.push_back(composer_.slot(from, to, bytes));
    const Slice& slot = slots[index_of(piece)];
    return {slot.buffer, slot.offset + offsets_[tree][index_of(vertex)]};
  }

  [[nodiscard]] Slice input(const Planted& of, int rank, Bytes offset) const {
    const bool whole = request_.collective == Collective::all_gather;
    if (request_.collective == Collective::all_to_all)
      return composer_.input(rank, request_.start_of(of.to) + offset);
    return composer_.input(rank, whole ? offset : of.block.offset + offset);
  }
  [[nodiscard]] Slice output(const Planted& of, int rank, Bytes offset) const {
    const bool alone = request_.collective == Collective::reduce_scatter;
    return composer_.output(rank, alone ? offset : of.block.offset + offset);
  }

  void keep_own() {
    const Collective collective = request_.collective;
    if (collective == Collective::broadcast)
      composer_.copy(composer_.input(request_.root), composer_.output(request_.root),
                     request_.part());
    if (collective != Collective::all_gather && collective != Collective::all_to_all) return;
    const bool in_parts = collective == Collective::all_to_all;
    for (int rank = 0; rank < request_.size(); ++rank) {
      const Bytes own = request_.start_of(rank);
      composer_.copy(composer_.input(rank, in_parts ? own : Bytes{}), composer_.output(rank, own),
                     request_.part());
    }
  }

  /// Where the values of a tree's vertices are, of one piece.
  using Places = std::vector<Operand>;
  [[nodiscard]] std::size_t row(int piece, std::size_t tree) const {
    return index_of(piece) * planted_.size() + tree;
  }
  [[nodiscard]] Places& places(int piece, std::size_t tree) {
    Places& places = places_[row(piece, tree)];
    if (places.empty()) places.resize(planted_[tree].tree.vertices().size());
    return places;
  }

  // The vertices at a depth send their values, or sums, to their parents, which add them up.
  void gather(int piece, int depth) {
    std::vector<Message> messages;
    messages.reserve(levels_.at(depth, true).size());
    for (const auto& [ahead, i, number] : levels_.at(depth, true)) {
      const Planted& of = planted_[i];
      const Vertex& vertex = of.tree.vertex(number);
      const auto [offset, bytes] = stretches_[row(piece, i)];
      Operand& value = places(piece, i)[index_of(number)];
      if (levels_.is_leaf(i, number)) value = {input(of, vertex.rank, offset), false};
      const int to = of.tree.vertex(vertex.parent).rank;
      if (to == vertex.rank || bytes.value == 0) continue;
      const Slice arrived = needs_slot(of, number)
                                ? slot_of(i, number, piece, vertex.rank, to, bytes)
                                : output(of, to, offset);
      messages.push_back({value.at, arrived, bytes, vertex.by});
      value = {arrived, true};
    }
    composer_.send(joined(messages));
    for (const auto& [ahead, i, number] : levels_.at(depth - 1, true)) add_up(piece, i, number);
  }

  void add_up(int piece, std::size_t tree, int number) {
    const Planted& of = planted_[tree];
    const Vertex& vertex = of.tree.vertex(number);
    const auto [offset, bytes] = stretches_[row(piece, tree)];
    if (bytes.value == 0 || levels_.is_leaf(tree, number)) return;
    Places& values = places(piece, tree);
    std::vector<std::pair<int, Operand>> ordered;
    ordered.reserve(values.size());
    if (vertex.takes_part)
      ordered.push_back({vertex.rank, {input(of, vertex.rank, offset), false}});
    for (std::size_t child = 1; child < values.size(); ++child)
      if (const Vertex& each = of.tree.vertices()[child]; each.parent == number)
        ordered.emplace_back(each.order, values[child]);
    std::ranges::stable_sort(ordered, {}, &std::pair<int, Operand>::first);
    std::vector<Operand> operands;
    operands.reserve(ordered.size());
    for (const auto& each : ordered) operands.push_back(each.second);
    if (number == 0) return sum_up(operands, output(of, vertex.rank, offset), bytes);
    values[index_of(number)] = {fold(composer_, operands, bytes), true};
  }

  // The result in its place.
  void sum_up(const std::vector<Operand>& operands, Slice result, Bytes bytes) {
    if (operands.size() == 1) return composer_.copy(operands.front().at, result, bytes);
    if (operands.size() > kMostOperands)
      return composer_.copy(fold(composer_, operands, bytes), result, bytes);
    std::vector<Slice> slices;
    for (const Operand& each : operands) slices.push_back(each.at);
    composer_.reduce(result, slices, bytes);
  }

  // The vertices at a depth get what their parents have.
  void spread(int piece, int depth) {
    std::vector<Message> messages, kept;
    for (const auto& [ahead, i, number] : levels_.at(depth, false)) {
      const Planted& of = planted_[i];
      const Vertex& vertex = of.tree.vertex(number);
      const auto [offset, bytes] = stretches_[row(piece, i)];
      if (bytes.value == 0) continue;
      const int from = of.tree.vertex(vertex.parent).rank;
      Places& values = places(piece, i);
      if (vertex.parent == 0) values[0] = {of_root(of, offset), false};
      Operand& value = values[index_of(number)];
      const Slice last = output(of, vertex.rank, offset);
      value.at =
          needs_slot(of, number) ? slot_of(i, number, piece, from, vertex.rank, bytes) : last;
      messages.push_back({values[index_of(vertex.parent)].at, value.at, bytes, vertex.by});
      if (needs_slot(of, number) && vertex.takes_part) kept.push_back({value.at, last, bytes});
    }
    composer_.send(joined(messages));
    for (const Message& each : kept) composer_.copy(each.from, each.to, each.bytes);
  }

  [[nodiscard]] Slice of_root(const Planted& of, Bytes offset) const {
    if (request_.collective == Collective::all_reduce) return output(of, of.from, offset);
    return input(of, of.from, offset);
  }

  Composer& composer_;
  const CollectiveRequest& request_;
  bool through_slots_;
  std::vector<Planted> planted_;
  TreeLevels levels_{request_.size()};
  int pieces_ = 1;
  std::vector<std::vector<Bytes>> offsets_;                  ///< in slots, by tree and vertex
  std::map<std::pair<int, int>, std::vector<Slice>> slots_;  ///< by link and piece
  std::vector<Part> stretches_;                              ///< by piece and tree
  std::vector<Places> places_;                               ///< by piece and tree
};

// Equal parts fit links of several widths with different numbers of trees: of those of a DGX-1V
// five, of Summit three (results/simulated/plan_bounds.json).
std::vector<int> trees_of_a_demand() { return {1, 2, 3, 4, 5}; }

// A sum that meets in groups has few trees to choose from at each price of the links: parts of the
// only demand are small enough to use links of two widths evenly.
constexpr int kTreesOfARoot = 12;

constexpr const char* kNotByTrees =
    "there are two ranks, or several nodes, where other algorithms do that";

// Among nodes all but a reduce has algorithms that know their networks.
bool does_by_trees(const Machine& machine, const CollectiveRequest& request) {
  const bool known =
      request.collective != Collective::reduce && !ranks_on_one_node(machine, request);
  return request.size() > 2 && !known;
}

}  // namespace

Algorithm trees() {
  return {.name = "trees",
          .sentence = "each part goes along trees that are packed onto the links",
          .order = "from the leaves of each tree to its root",
          .collectives = {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter,
                          Collective::all_gather, Collective::all_to_all, Collective::broadcast},
          .compose = [](Composer& composer) { AlongTrees(composer, {}).compose(); },
          .radices = trees_of_a_demand(),
          .can = does_by_trees,
          .why_not = kNotByTrees,
          .fewest_slots = 2,
          .more_with_radix = true,
          .may_go_by_hosts = true,
          .has_phases = true};
}

Algorithm grouped() {
  return {
      .name = "grouped",
      .sentence = "values meet in each group, the groups' sums meet, and results go along trees",
      .order = kFixedOrder,
      .collectives = {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter},
      .compose =
          [](Composer& composer) {
            AlongTrees(composer, order_groups(composer.machine(), composer.request())).compose();
          },
      .radices = trees_of_a_demand(),
      .can = does_by_trees,
      .why_not = kNotByTrees,
      .fewest_slots = 2,
      .more_with_radix = true,
      .most_of_a_root = kTreesOfARoot,
      .may_go_by_hosts = true,
      .has_phases = true};
}

}  // namespace polypath::collective
