#pragma once
// Which flags the ranks need between their parts of a program (projection.h): found node by node,
// in order.
//
// The nodes that a node comes after are known as a vector: for each queue its last node, and for
// each rank whether it has entered. A node's vector is the union of those of all it comes after.

#include <map>
#include <utility>
#include <vector>

#include "collective/trees/index_of.h"
#include "machine/machine.h"
#include "model/program.h"

namespace polypath {

/// A flag of a pair of ranks, set once and awaited once.
struct RankFlag {
  int producer = 0;
  int consumer = 0;
  int word = 0;
  int before = -1;         ///< the consumer's node that awaits it first; -1: the end of its part
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
  RankOrder(const Machine& machine, const Program& program, const std::vector<PlaceId>& ranks);

  [[nodiscard]] const std::vector<RankNode>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<RankFlag>& flags() const { return flags_; }
  /// Flags that a rank sets at the start of its part, and awaits at its end.
  [[nodiscard]] const std::vector<int>& entries(int rank) const { return entries_[index_of(rank)]; }
  [[nodiscard]] const std::vector<int>& ends(int rank) const { return ends_[index_of(rank)]; }
  /// The rank that has a buffer; -1 if none of them does.
  [[nodiscard]] int owner_of(const ProgramBuffer& buffer) const;
  /// Words that the pair which needs most of them needs.
  [[nodiscard]] int words() const;

 private:
  using Known = std::vector<int>;  ///< by queue its last node, then by rank 0 if it has entered
  struct Await {
    int flag = 0;
    Known known;  ///< what precedes all nodes after the await
  };

  /// The predecessors of the node that is being added.
  struct Progress {
    Known all;    ///< in the whole program
    Known known;  ///< by what it has now
    Known queue;  ///< by its queue, and the flags that this awaits before it
  };

  static void join(Known& known, const Known& other);
  [[nodiscard]] static bool covers(const Known& known, const Known& other);
  [[nodiscard]] int rank_at(PlaceId place) const;
  [[nodiscard]] int rank_of(const Node& node) const;
  [[nodiscard]] std::size_t entry_of(int rank) const { return queues_ + index_of(rank); }
  [[nodiscard]] Known known_after(int node) const;
  [[nodiscard]] bool is_known(const Known& known, int node) const;
  void find_touched();
  void note_touched(const Node& node, int rank, std::vector<bool>& touched) const;
  [[nodiscard]] std::vector<bool> entries_for(int node) const;
  void add(int node);
  void await_entries(int node, Progress& so_far);
  void await_node(int earlier, int node, Progress& so_far);
  [[nodiscard]] const Await* find_await(int earlier, int rank, const Known& all) const;
  /// `at` is what its await comes after.
  int add_flag(int earlier, int consumer, int before, const Known& at);
  int free_word(int producer, int consumer, int earlier, const Known& at);
  void end(int rank);
  [[nodiscard]] std::vector<int> last_touching(int rank) const;

  const Machine& machine_;
  const Program& program_;
  const std::vector<PlaceId>& ranks_;
  std::size_t queues_;
  std::vector<RankNode> nodes_;
  std::vector<RankFlag> flags_;
  std::vector<std::vector<int>> entries_, ends_;  ///< by rank
  std::vector<std::vector<bool>> touched_;        ///< by node: by rank
  std::vector<std::vector<bool>> signalled_;      ///< by node: ranks whose nodes follow it
  std::vector<Known> known_;                      ///< by node
  std::vector<int> last_;                         ///< by queue
  std::map<std::pair<int, int>, std::vector<Await>> awaits_;  ///< by rank, and queue of the earlier
  std::map<std::pair<int, int>, Await> entered_;           ///< by rank that awaits, and that enters
  std::map<std::pair<int, int>, std::vector<int>> words_;  ///< by pair: node that frees each word
};

}  // namespace polypath
