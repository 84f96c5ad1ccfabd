#pragma once
// Tells the node's other processes of this one's transfers, and reads theirs, by the ledger.
//
// A process is not notified of transfers that start later beside its own. So entries stay in the
// ledger when they are over, and the next transfer of a way looks back at those that were there the
// last time.

#include <memory>
#include <optional>
#include <vector>

#include "engine/load/contention.h"
#include "engine/load/node_ledger.h"
#include "engine/load/transfer_histories.h"

namespace polypath::engine {

class LoadExchange {
 public:
  LoadExchange(const ResourceModel& resources, NodeLedger& ledger, TransferHistories& histories)
      : resources_(resources), ledger_(ledger), histories_(histories) {}

  /// Notes that a transfer of this way begins.
  void note(const Way& way);
  /// A transfer's entry, its times and its set apart.
  [[nodiscard]] LedgerEntry entry_of(const Plan& plan) const;
  /// The transfer is over, earlier than its entry says.
  void note_end(const RunningTransfer& transfer, Seconds now);
  /// Publishes what is in flight, and ways lately over as they were.
  void publish(const RunningTransfers& running, Seconds now);
  /// What is in flight of other processes, and what met the last transfer of this way.
  [[nodiscard]] Contention contention_of(const TransferRequest& asked, Seconds now);

 private:
  [[nodiscard]] double ahead(Seconds now) const;
  void publish_lately_over(const RunningTransfers& running);
  void add(const LedgerEntry& entry, const TransferRequest& asked, Contention& contention) const;
  void meet(const LedgerEntry& entry, const Way& own, Seconds now);

  const ResourceModel& resources_;
  NodeLedger& ledger_;
  TransferHistories& histories_;
  /// The ledger's clock of the driver's, when both were looked at together: when a transfer is
  /// noted, the time of its calls has passed.
  std::optional<double> ahead_;
  std::vector<LedgerEntry> published_;
  std::vector<Way> lately_;  ///< those of the last transfers, the latest last
};

}  // namespace polypath::engine
