#pragma once
// How much of each resource the transfers of this process take now, and with a ledger those of the
// node's other processes, by prediction: asking the driver whether they are done would cost more
// than it is worth. Where a program asks it, and streams turn out to be idle, that counts instead.
//
// One lock over its parts: what runs on each stream (running_transfers.h), what the transfers of
// each way have met (transfer_histories.h), what one about to be planned meets
// (contention_query.h), what recurs together (set_finder.h), and the other processes
// (load_exchange.h).

#include <atomic>
#include <memory>
#include <optional>

#include "core/brief_mutex.h"
#include "driver/driver.h"
#include "engine/load/contention.h"
#include "engine/load/load_exchange.h"
#include "engine/load/node_ledger.h"
#include "engine/load/running_transfers.h"
#include "engine/load/set_finder.h"
#include "engine/load/transfer_histories.h"
#include "plan/single/planner.h"

namespace polypath::engine {

/// Thread-safe; engines may share one.
class LoadTracker {
 public:
  /// A check of an earlier decision need not know what recurs within this process: finding that out
  /// takes 2 us where two threads work on it (32 cores beside H200s).
  enum class Depth { full, cached };

  explicit LoadTracker(const Machine& machine, std::unique_ptr<NodeLedger> ledger = nullptr);

  /// Notes a transfer that has been enqueued on `stream` at `now`, and its contention.
  void add(StreamHandle stream, PlanPointer plan, Seconds now, const Contention& contention = {});
  /// The transfers on other streams that still run, by prediction. Transfers on the same stream do
  /// not count: they are over when the next one starts. Nor do those that go the same way: paths
  /// are shared in proportion, so that the solo plan stays optimal for each.
  ///
  /// Programs repeat themselves: a transfer that met the last ones of this way, in flight before
  /// them or joining them, is expected to meet this one, and counts before it comes; the other way
  /// as well. A transfer that took turns with it, as in a ping-pong, has not met it.
  [[nodiscard]] Contention contention_of(const TransferRequest& asked, Seconds now,
                                         Depth depth = Depth::full);
  /// The newest transfer that may be in flight; zero: there is none. To be asked before the driver
  /// is asked whether streams are idle: what is issued after that is not known to be over. Takes no
  /// lock.
  [[nodiscard]] TransferNumber newest() const noexcept {
    return newest_.load(std::memory_order_acquire);
  }
  /// The driver has answered that streams are idle: their transfers up to that one are over. A
  /// native copy that another thread was about to issue in the same stream counts as over, too.
  void note_idle(const IsIdle& is_idle, TransferNumber newest, Seconds now);
  /// True if there is not room for the plan beside what other processes are using.
  [[nodiscard]] bool lacks_room(const Plan& plan, const Load& foreign_load) const;

 private:
  void forget_over(Seconds now);

  Machine machine_;
  ResourceModel resources_;
  std::unique_ptr<NodeLedger> ledger_;
  BriefMutex mutex_;
  RunningTransfers running_;
  TransferHistories histories_;
  SetFinder sets_;
  std::optional<LoadExchange> exchange_;  ///< only with a ledger
  TransferNumber issued_ = 0;
  std::atomic<TransferNumber> newest_{0};  ///< the last issued; zero while none is remembered
};

}  // namespace polypath::engine
