#pragma once
// Which flags the ranks need between their parts of a program (projection.h): found node by node,
// in order.
//
// A node needs none for what it comes after anyway: its vector clock (vector_clocks.h) has that,
// the union of those of all it comes after.

#include <map>
#include <utility>
#include <vector>

#include "collective/division/flag_words.h"
#include "collective/division/rank_access.h"
#include "collective/division/vector_clocks.h"
#include "collective/trees/index_of.h"
#include "machine/machine.h"
#include "model/program.h"

namespace polypath::collective {

/// A flag of a pair of ranks, set once and awaited once.
struct RankFlag {
  int producer = 0;
  int consumer = 0;
  int word = 0;
  int before = -1;         ///< the consumer's node that awaits it first; kEndOfPart: none does
  std::vector<int> after;  ///< nodes of the producer, the last one first; none: its entry
};

/// The flags and the order that a node of a rank needs, beside its place in its queue.
struct RankNode {
  int rank = -1;
  std::vector<int> awaits;   ///< numbers of flags, awaited in its queue just before it
  std::vector<int> signals;  ///< numbers of flags, set in its queue just after it
  std::vector<int> after;    ///< earlier nodes of the rank's other queues
  std::vector<int> beside;   ///< numbers of flags that other queues of the rank await
};

class RankOrder {
 public:
  /// All that it is made of outlives it.
  RankOrder(const Machine& machine, const Program& program, const std::vector<PlaceId>& ranks);
  RankOrder(const RankOrder&) = delete;
  RankOrder& operator=(const RankOrder&) = delete;

  [[nodiscard]] const std::vector<RankNode>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<RankFlag>& flags() const { return flags_; }
  /// Flags that a rank sets at the start of its part, and awaits at its end.
  [[nodiscard]] const std::vector<int>& entries(int rank) const { return entries_[index_of(rank)]; }
  [[nodiscard]] const std::vector<int>& ends(int rank) const { return ends_[index_of(rank)]; }
  /// The rank that has a buffer; -1 if none of them does.
  [[nodiscard]] int owner_of(const ProgramBuffer& buffer) const { return access_.owner_of(buffer); }
  /// Words that the pair which needs most of them needs.
  [[nodiscard]] int words() const { return words_.most(); }

 private:
  struct Await {
    int flag = 0;
    VectorClock known;  ///< what precedes all nodes after the await
  };

  /// The predecessors of the node that is being added.
  struct Progress {
    VectorClock all;    ///< in the whole program
    VectorClock known;  ///< by what it has now
    VectorClock queue;  ///< by its queue, and the flags that this awaits before it
  };

  void add(int node);
  void await_entries(int node, Progress& so_far);
  void await_entry(int rank, int node, Progress& so_far);
  void await_node(int earlier, int node, Progress& so_far);
  [[nodiscard]] const Await* find_await(int earlier, int rank, const VectorClock& all) const;
  /// `at` is what its await comes after.
  int add_flag(int earlier, int consumer, int before, const VectorClock& at);
  void end(int rank);

  const Program& program_;
  RankAccess access_;
  VectorClocks clocks_;
  FlagWords words_;
  std::vector<RankNode> nodes_;
  std::vector<RankFlag> flags_;
  std::vector<std::vector<int>> entries_, ends_;              ///< by rank
  std::map<std::pair<int, int>, std::vector<Await>> awaits_;  ///< by rank, and queue of the earlier
  std::map<std::pair<int, int>, Await> entered_;  ///< by rank that awaits, and that enters
};

}  // namespace polypath::collective
