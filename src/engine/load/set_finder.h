#pragma once
// Finds which transfers recur together, so that each of them knows the same set.
//
// A recurring set with transfers of other processes has a name, made of all its transfers, which
// each process publishes with its own part: where all have published the same name, all know the
// same set.

#include <cstdint>
#include <vector>

#include "engine/load/contention_query.h"
#include "engine/load/node_ledger.h"
#include "engine/load/transfer_histories.h"

namespace polypath::engine {

class SetFinder {
 public:
  /// `ledger` is null where no other process is seen.
  SetFinder(TransferHistories& histories, const NodeLedger* ledger)
      : histories_(histories), ledger_(ledger) {}

  struct Found {
    RecurringSet set = {};   ///< empty if not all of its transfers know it
    std::uint64_t name = 0;  ///< zero without other processes
  };

  /// The transfers that recur with the one asked for, if it meets no others now.
  [[nodiscard]] Found find(const ContentionQuery& query);

 private:
  [[nodiscard]] Found search(const ContentionQuery& query);
  [[nodiscard]] bool knows_all(const std::vector<Way>& ways, Seconds now) const;
  [[nodiscard]] RecurringSet set_of(const std::vector<Way>& ways, Seconds now) const;
  [[nodiscard]] Found set_with_others(const std::vector<Way>& ways,
                                      const ForeignOverlaps& others) const;
  [[nodiscard]] std::uint64_t name_of(const std::vector<JointTransfer>& transfers) const;
  void remember(const std::vector<Way>& ways, const RecurringSet& set, Seconds now);

  TransferHistories& histories_;
  const NodeLedger* ledger_;
};

}  // namespace polypath::engine
