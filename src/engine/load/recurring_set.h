#pragma once
// Transfers that recur together, round after round.
//
// Where all transfers of such a set know the same of it, all have the same joint plan
// (plan/joint/joint.h), and each carries out its part: none has to guess what the others do, and no
// round differs from the one before.

#include <vector>

#include "plan/joint/joint_draft.h"

namespace polypath::engine {

/// With more there is hardly room for staged paths, and each call has to look at all of them.
inline constexpr std::size_t kMostRecurring = 8;

struct RecurringSet {
  /// One for each pair of places; in the order of issue if one thread issues them, else of places.
  std::vector<JointTransfer> transfers = {};
  Issuers issuers = Issuers::one_thread;
  bool queues = false;  ///< the next ones are issued before these are over

  [[nodiscard]] bool empty() const { return transfers.empty(); }
  bool operator==(const RecurringSet&) const = default;
};

}  // namespace polypath::engine
