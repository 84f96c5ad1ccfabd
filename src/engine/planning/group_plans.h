#pragma once
// The last plans of groups of pieces (engine/call/piece_set.h). A program copies blocks of one size
// again and again, a group of which goes like the one before it: its plan, of hundreds of buffers,
// need not be built anew.

#include <cstddef>
#include <span>
#include <vector>

#include "plan/pieces/piece_planner.h"

namespace polypath::engine {

/// Not thread-safe.
class GroupPlans {
 public:
  explicit GroupPlans(int slots) : slots_(slots) {}

  /// As plan_of(): of pieces of these sizes, in this order, by the recipe.
  [[nodiscard]] PlanPointer plan(const Machine& machine, const PieceRecipePointer& recipe,
                                 std::span<const Bytes> sizes);

 private:
  /// Whole groups and the last one of a set, of both ways.
  static constexpr std::size_t kMost = 4;
  struct Known {
    PieceRecipePointer recipe;
    std::vector<Bytes> sizes;
    PlanPointer plan;
  };

  int slots_;
  std::vector<Known> known_;  ///< the latest one last
};

}  // namespace polypath::engine
