#include "engine/decide/recent_parts.h"

#include <algorithm>
#include <utility>

namespace polypath::engine {

JointPlanPointer RecentParts::find(const RecurringSet& set, Executor executor,
                                   const LeftOutRelays& left_out) const {
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const Known& each) {
    return each.set == set && each.executor == executor && each.left_out == left_out;
  });
  return known != known_.end() ? known->plan : nullptr;
}

void RecentParts::remember(const RecurringSet& set, Executor executor,
                           const LeftOutRelays& left_out, JointPlanPointer plan) {
  Known known{.set = set, .executor = executor, .left_out = left_out, .plan = std::move(plan)};
  if (known_.size() < kMost) return known_.push_back(std::move(known));
  known_[oldest_] = std::move(known);
  oldest_ = (oldest_ + 1) % kMost;
}

}  // namespace polypath::engine
