#pragma once
// Which rank does each node of a program, and which other ranks' memory it touches. Internal to
// src/collective/division.

#include <vector>

#include "collective/trees/index_of.h"
#include "machine/machine.h"
#include "model/program.h"

namespace polypath::collective {

/// All that it is made of outlives it.
class RankAccess {
 public:
  /// Error (internal) if some node is of no rank.
  RankAccess(const Machine& machine, const Program& program, const std::vector<PlaceId>& ranks);

  [[nodiscard]] int ranks() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] int rank_of(int node) const { return rank_of_[index_of(node)]; }
  /// The rank that has a buffer; -1 if none of them does.
  [[nodiscard]] int owner_of(const ProgramBuffer& buffer) const;
  /// True if a node has to come after another rank's entry: it touches memory of that rank, or the
  /// rank is told of it, so that its flags have to be free.
  [[nodiscard]] bool concerns(int node, int rank) const {
    return touched_[index_of(node)][index_of(rank)] || awaited_[index_of(node)][index_of(rank)];
  }
  /// Of each queue the last node of another rank that touches this rank's memory, the latest first.
  [[nodiscard]] std::vector<int> last_touching(int rank) const;

 private:
  using ByNodeAndRank = std::vector<std::vector<bool>>;

  [[nodiscard]] int rank_at(PlaceId place) const;
  [[nodiscard]] int rank_of(const Node& node) const;
  void note_touched(const Node& node, int rank, std::vector<bool>& touched) const;

  const Machine& machine_;
  const Program& program_;
  const std::vector<PlaceId>& ranks_;
  std::vector<int> rank_of_;  ///< by node
  ByNodeAndRank touched_;     ///< memory of the rank, which is another one's
  ByNodeAndRank awaited_;     ///< by nodes of the rank, which is another one's
};

}  // namespace polypath::collective
