#pragma once
// The joint plans of the sets that recurred last. To ask for one among all plans is to take a lock
// and to search by all that it was asked for; to compare the few that recur takes a moment.

#include <optional>
#include <vector>

#include "engine/load/recurring_set.h"
#include "engine/planning/plans.h"

namespace polypath::engine {

/// Not thread-safe; the engine guards it.
class RecentParts {
 public:
  /// The plan that was remembered for that set, executor and relays left out; null if none was.
  [[nodiscard]] JointPlanPointer find(const RecurringSet& set, Executor executor,
                                      const LeftOutRelays& left_out) const;
  /// In place of the oldest, where there are many.
  void remember(const RecurringSet& set, Executor executor, const LeftOutRelays& left_out,
                JointPlanPointer plan);

 private:
  static constexpr std::size_t kMost = 8;
  struct Known {
    RecurringSet set;
    Executor executor = Executor::stream;
    LeftOutRelays left_out = {};
    JointPlanPointer plan = nullptr;
  };

  std::vector<Known> known_;
  std::size_t oldest_ = 0;
};

}  // namespace polypath::engine
