#pragma once
// What precedes each node of a program, as a vector clock: for each queue the last node of it that
// is over, and for each rank whether it has entered. A queue's nodes end in their order, so that
// one number stands for all before it. Internal to src/collective/division.

#include <vector>

#include "collective/trees/index_of.h"
#include "model/program.h"

namespace polypath::collective {

/// Nodes and entries that are over at some point.
class VectorClock {
 public:
  /// Nothing is.
  VectorClock(std::size_t queues, int ranks)
      : queues_(queues), last_(queues + index_of(ranks), -1) {}

  /// Adds what another one has: the union of both.
  void join(const VectorClock& other);
  /// True if it has all that the other one has.
  [[nodiscard]] bool covers(const VectorClock& other) const;
  /// Adds a node of a queue.
  void add(int queue, int node);
  [[nodiscard]] bool has(int queue, int node) const { return last_[index_of(queue)] >= node; }
  void enter(int rank) { last_[queues_ + index_of(rank)] = 0; }
  [[nodiscard]] bool has_entered(int rank) const { return last_[queues_ + index_of(rank)] >= 0; }

 private:
  std::size_t queues_;
  std::vector<int> last_;  ///< by queue its last node, then by rank 0 if it has entered; else -1
};

/// Those of a program's nodes, which are added in their order. The program outlives it.
class VectorClocks {
 public:
  VectorClocks(const Program& program, int ranks)
      : program_(program), ranks_(ranks), last_(program.queues().size(), -1) {}

  [[nodiscard]] VectorClock nothing() const { return {last_.size(), ranks_}; }
  /// All that is over when a node is: itself, too.
  [[nodiscard]] VectorClock after(int node) const;
  [[nodiscard]] bool has(const VectorClock& clock, int node) const {
    return clock.has(program_.node(node).queue, node);
  }
  /// True if `earlier` is over before a node begins.
  [[nodiscard]] bool precedes(int earlier, int node) const {
    return has(before_[index_of(node)], earlier);
  }
  /// The node of a queue that was added last; -1 if there is none.
  [[nodiscard]] int last_of(int queue) const { return last_[index_of(queue)]; }
  /// All that is over when the next node of a queue may begin, as its queue has it.
  [[nodiscard]] VectorClock after_last_of(int queue) const;
  /// The next node begins when `before` is over.
  void add(int node, VectorClock before);

 private:
  const Program& program_;
  int ranks_;
  std::vector<VectorClock> before_;  ///< by node
  std::vector<int> last_;            ///< by queue
};

}  // namespace polypath::collective
