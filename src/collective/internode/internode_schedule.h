#pragma once
// Collectives among nodes, as their parts: the joint calls of one node's ranks, the messages
// between ranks of different nodes, and the reductions of a rank. Internal to src/collective.
//
// N nodes of m ranks each; rank (t, j) is the j-th of node t. A message goes in pieces, each
// through these steps, while other pieces are in other ones:
//
//   before   in the node, in the caller's stream
//   first    messages between nodes (piece_exchange.h)
//   reduce   of what has come, in a stream for the network
//   second   messages once more
//   after    in the node, in the caller's stream
//
// Sums: in each node in the order of its ranks, then the nodes' sums in the order of the nodes, for
// any size and any place of addition.

#include <memory>
#include <vector>

#include "collective/internode/piece_exchange.h"
#include "collective/program/parts.h"
#include "collective/rank/node_collectives.h"
#include "communicator/bootstrap/nodes.h"

namespace polypath::collective {

/// Where a rank is among the nodes, and the memory of its GPU in which pieces are.
class NodeRank {
 public:
  /// Pieces that are under way at the same time have memory of their own.
  static constexpr int kPieces = 5;

  /// `inside` is of the ranks of its node; none if there is one. Memory of `buffer_bytes` bytes
  /// each is made when it is first asked for.
  NodeRank(Driver& driver, PlaceId gpu, const Nodes& nodes, int rank, NodeCollectives* inside,
           Bytes piece);
  NodeRank(const NodeRank&) = delete;
  NodeRank& operator=(const NodeRank&) = delete;
  ~NodeRank();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return nodes() * locals(); }
  [[nodiscard]] int node() const { return nodes_.of(rank_); }
  [[nodiscard]] int nodes() const { return nodes_.count(); }
  [[nodiscard]] int local() const { return nodes_.local_rank(rank_); }
  [[nodiscard]] int locals() const { return static_cast<int>(nodes_.ranks_on(0).size()); }
  [[nodiscard]] int rank_at(int node, int local) const {
    return nodes_.ranks_on(node)[static_cast<std::size_t>(local)];
  }
  [[nodiscard]] int node_of(int rank) const { return nodes_.of(rank); }
  [[nodiscard]] int local_of(int rank) const { return nodes_.local_rank(rank); }
  [[nodiscard]] const std::vector<int>& node_ranks() const { return nodes_.ranks_on(node()); }
  /// The ranks of other nodes that are there what this one is here.
  [[nodiscard]] const std::vector<int>& rail_peers() const { return rail_peers_; }
  /// Null if the node has one rank.
  [[nodiscard]] NodeCollectives* inside() const { return inside_; }

  /// The most bytes that a piece should have, and those that its memory has: with a remainder of
  /// one element for each rank.
  [[nodiscard]] Bytes piece() const { return piece_; }
  [[nodiscard]] Bytes buffer_bytes() const;
  /// Memory of a piece, of two kinds; and the bytes that have arrived for the piece being reduced.
  Address work(int piece) { return memory(piece % kPieces); }
  Address gathered(int piece) { return memory(kPieces + piece % kPieces); }
  Address arrived() { return memory(2 * kPieces); }

  void copy(Address to, Address from, Bytes bytes, StreamHandle stream) const;
  /// own = x₀ ∘ x₁ ∘ … of the nodes' values, of which `arrived` are the others' in their order, one
  /// after another, and overwritten. An average is divided at last.
  void reduce(Address own, Bytes bytes, const Reduction& reduction, StreamHandle stream);
  /// Makes what reductions still lack, if the driver has them.
  void prepare(StreamHandle stream);

 private:
  Address memory(int number);

  Driver& driver_;
  PlaceId gpu_;
  const Nodes& nodes_;
  int rank_;
  NodeCollectives* inside_;
  Bytes piece_;
  std::vector<int> rail_peers_;
  std::vector<Address> memory_;
};

/// One call.
class InternodeSchedule {
 public:
  InternodeSchedule(NodeRank& rank, const CollectiveCall& call, StreamHandle stream,
                    StreamHandle network)
      : rank_(rank), call_(call), stream_(stream), network_(network) {}
  InternodeSchedule(const InternodeSchedule&) = delete;
  InternodeSchedule& operator=(const InternodeSchedule&) = delete;
  virtual ~InternodeSchedule() = default;

  /// From now on the steps in the node enqueue nothing: they make what such steps need.
  void only_prepare() { only_prepares_ = true; }

  [[nodiscard]] virtual int pieces() const = 0;
  virtual void before(int) {}
  virtual NodeMessages first(int piece) = 0;
  virtual void reduce(int) {}
  virtual bool has_second() const { return false; }
  virtual NodeMessages second(int) { return {}; }
  virtual void after(int) {}

 protected:
  [[nodiscard]] Bytes element() const { return bytes_of(call_.reduction.type); }
  /// The rank's own elements, E of them.
  [[nodiscard]] Part whole() const { return {{}, element() * call_.elements}; }
  /// Its pieces, `times` of which go into the memory of one.
  [[nodiscard]] int pieces_of_whole(int times) const;
  [[nodiscard]] Part piece_of(int piece, int pieces) const {
    return part_of(whole(), piece, pieces, element());
  }
  /// An average is one of all ranks', of which those of the node come first.
  [[nodiscard]] Reduction in_node() const;
  /// In the caller's stream: a copy, and the joint work of the node's ranks, with elements of the
  /// type of the call.
  void copy(Address to, Address from, Bytes bytes) const;
  void inside(CollectiveCall call);

  NodeRank& rank_;
  const CollectiveCall& call_;
  StreamHandle stream_;
  StreamHandle network_;

 private:
  bool only_prepares_ = false;
};

/// A call as its steps. Error (unsupported) for a call that does not exist among nodes in the
/// ranks' order.
using MakeInternodeSchedule = std::unique_ptr<InternodeSchedule>(NodeRank& rank,
                                                                 const CollectiveCall& call,
                                                                 StreamHandle stream,
                                                                 StreamHandle network);
MakeInternodeSchedule internode_schedule;
MakeInternodeSchedule internode_barrier;

MakeInternodeSchedule internode_all_reduce;
MakeInternodeSchedule internode_reduce_scatter;
MakeInternodeSchedule internode_reduce;
MakeInternodeSchedule internode_all_gather;
MakeInternodeSchedule internode_broadcast;
MakeInternodeSchedule internode_all_to_all;

}  // namespace polypath::collective
