#include "engine/planning/group_plans.h"

#include <algorithm>

namespace polypath::engine {

PlanPointer GroupPlans::plan(const Machine& machine, const PieceRecipePointer& recipe,
                             std::span<const Bytes> sizes) {
  const auto found = std::ranges::find_if(known_, [&](const Known& known) {
    return known.recipe == recipe && std::ranges::equal(known.sizes, sizes);
  });
  if (found != known_.end()) {
    std::rotate(found, found + 1, known_.end());
    return known_.back().plan;
  }
  if (known_.size() == kMost) known_.erase(known_.begin());
  known_.push_back(
      {recipe, {sizes.begin(), sizes.end()}, plan_of(machine, *recipe, sizes, slots_)});
  return known_.back().plan;
}

}  // namespace polypath::engine
