#pragma once
// Finds what one transfer about to be planned has to share the machine with: transfers of this
// process that are in flight, and those that it met the last times and that are expected again.

#include <map>

#include "engine/load/contention.h"
#include "engine/load/transfer_histories.h"

namespace polypath::engine {

class ContentionQuery {
 public:
  /// `known`: what is known already, of other processes.
  ContentionQuery(const TransferRequest& asked, Seconds now, const TransferHistories& histories,
                  Contention known)
      : asked_(asked), now_(now), histories_(histories), contention_(std::move(known)) {}

  /// Looks at what is in flight on other streams.
  void look_at(const RunningTransfers& running);
  /// Adds the transfers that met the last ones of this way and are not there yet, or will be there
  /// again.
  void expect();
  /// True if all that it meets is `is_of_it`.
  template <class IsOfIt>
  [[nodiscard]] bool meets_only(IsOfIt is_of_it) const {
    for (const auto& [way, other_transfer] : concurrent_)
      if (!is_of_it(way)) return false;
    return contention_.both_ways == BothWays::no || is_of_it(back());
  }
  /// What has been found.
  [[nodiscard]] Contention contention() &&;

  [[nodiscard]] const TransferRequest& asked() const { return asked_; }
  [[nodiscard]] Seconds now() const { return now_; }
  [[nodiscard]] Way own() const { return way_of(asked_); }
  [[nodiscard]] Way back() const { return {asked_.destination, asked_.source}; }

 private:
  void look_at(const RunningTransfer& running);
  void expect(const Way& way, const Overlap& overlap, bool was_queued);
  void add(const ConcurrentTransfer& other_transfer);
  [[nodiscard]] bool is_of_same_thread(const RunningTransfer& other) const;
  [[nodiscard]] bool gives_place(const RunningTransfer& running) const;

  const TransferRequest& asked_;
  Seconds now_;
  const TransferHistories& histories_;
  Contention contention_;
  std::map<Way, ConcurrentTransfer> concurrent_;
  /// A program that queues on one stream does so on the others.
  bool queues_ = false;
};

}  // namespace polypath::engine
