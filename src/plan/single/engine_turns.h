#pragma once
// Where a transfer's copies take turns at engines: what that costs, and another order of issue.

#include <vector>

#include "plan/single/splitter.h"

namespace polypath::plan {

class EngineTurns {
 public:
  explicit EngineTurns(const Splitter& splitter) : splitter_(splitter) {}

  /// True if some engine is wanted by more of the draft's copies than it serves at a time: then it
  /// counts in which order they are issued.
  [[nodiscard]] bool are_taken(const Draft& draft) const;
  /// True if a staged path needs an engine that the direct copy, were it first, would keep to its
  /// end.
  [[nodiscard]] bool hold_up_others(const Draft& draft, const Path& direct) const;
  /// True if the best draft over these paths takes clearly longer than without turns.
  [[nodiscard]] bool lose_time(const Draft& best, const std::vector<Path>& paths) const;
  /// Tries other orders. The path that is issued first gets the engine first, and the direct copy
  /// keeps the engine to its end. A path that comes before it as one chunk does not have to wait
  /// for it.
  void reorder(Draft& draft) const;

 private:
  [[nodiscard]] std::vector<Use> claims_of_all_ways(const Path& path) const;
  [[nodiscard]] Seconds time_without_turns(const std::vector<Path>& paths) const;

  const Splitter& splitter_;
};

}  // namespace polypath::plan
