#pragma once
// Results of searches for plans. From a result, and the machine and settings of its search, a plan
// follows by a prediction or two, the same to the last bit; the search takes hundreds of them.

#include <vector>

#include "plan/joint/joint.h"
#include "plan/single/planner.h"

namespace polypath::plan {

using FoundSplit = std::vector<PathDraft>;

/// How transfers of one size class go that nothing else is beside, over all usable paths.
struct FoundRecipe {
  PlaceId source;
  PlaceId destination;
  Bytes size;  ///< of the class
  BothWays both_ways = BothWays::no;
  Executor executor = Executor::stream;
  FoundSplit split = {};
};

/// From which size on several paths are worth it.
struct FoundSmallest {
  PlaceId source;
  PlaceId destination;
  std::optional<Executor> asked = std::nullopt;
  Bytes smallest = {};
};

/// How transfers go that are planned together.
struct FoundSet {
  std::vector<JointTransfer> transfers;
  JointOptions options = {};
  Executor executor = Executor::native;
  std::vector<FoundSplit> splits = {};  ///< in the order of the transfers
  IssueOrder order = {};                ///< empty: as asked for
};

/// The most recently used entries come first.
struct FoundPlans {
  std::vector<FoundRecipe> recipes = {};
  std::vector<FoundSmallest> smallest = {};
  std::vector<FoundSet> sets = {};

  [[nodiscard]] bool empty() const { return recipes.empty() && smallest.empty() && sets.empty(); }
};

/// Keeps what was found from one process to the next, for one machine and its settings.
/// Thread-safe; fails without a word but in the log.
class PlanKeeper {
 public:
  PlanKeeper() = default;
  PlanKeeper(const PlanKeeper&) = delete;
  PlanKeeper& operator=(const PlanKeeper&) = delete;
  virtual ~PlanKeeper() = default;

  [[nodiscard]] virtual FoundPlans read() noexcept = 0;
  /// The plans kept by other processes stay, as far as there is room.
  virtual void keep(const FoundPlans& found) noexcept = 0;
};

/// True if each path is one of `usable`, once, and the shares add up to 1, with chunks that may be.
bool can_be_used(const FoundSplit& split, const std::vector<Path>& usable);

/// True if it is empty, or each of `transfers` comes once.
bool can_be_used(const IssueOrder& order, std::size_t transfers);

}  // namespace polypath::plan
