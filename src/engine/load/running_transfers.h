#pragma once
// The last transfer of each stream of this process, and when it is over by prediction.

#include <cstdint>
#include <functional>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "engine/load/contention.h"
#include "engine/load/ledger_table.h"
#include "plan/single/planner.h"

namespace polypath::engine {

/// From one place to another.
using Way = std::pair<PlaceId, PlaceId>;

inline Way way_of(const Plan& plan) { return {plan.source, plan.destination}; }
inline Way way_of(const TransferRequest& asked) { return {asked.source, asked.destination}; }

/// Counts the transfers of a tracker from one on; zero is none.
using TransferNumber = std::uint64_t;

/// Whether a stream is idle for the thread that issued its last transfer.
using IsIdle = std::function<bool(StreamHandle, std::thread::id issuer)>;

/// The last transfer of a stream.
struct RunningTransfer {
  PlanPointer plan;
  LedgerEntry entry;   ///< for others, but for its times
  Seconds end;         ///< also of those before it
  Seconds back_until;  ///< until when it is expected back; zero if it met none the other way
  Seconds called;
  std::thread::id thread;
  TransferNumber number = 0;
  bool queued = false;         ///< it was issued before the one before it was over
  bool for_both_ways = false;  ///< planned together with the same transfer the other way

  /// The calling thread issues the stream's next transfer.
  void follow(PlanPointer next, Seconds now, BothWays both_ways);
  [[nodiscard]] bool runs(Seconds now) const;
  /// True if it will soon be over.
  [[nodiscard]] bool is_mostly_over(Seconds now) const;
  [[nodiscard]] bool goes_the_same_way(const TransferRequest& asked) const;
  [[nodiscard]] bool mirrors(const TransferRequest& asked) const;
  void meet_way_back();
  /// It is over earlier than predicted; what is expected to come back comes earlier, too.
  void end_early(Seconds now);
};

class RunningTransfers {
 public:
  /// The one of a stream, which has no plan before its first transfer.
  [[nodiscard]] RunningTransfer& of(StreamHandle stream) { return by_stream_[stream]; }
  /// Where the stream's transfer goes the other way of one in flight, both expect to meet again.
  void meet_ways_back(StreamHandle stream, Seconds now);
  void forget_over(Seconds now);
  /// Those of idle streams that are not over by prediction, up to the number `newest`.
  [[nodiscard]] std::vector<RunningTransfer*> unfinished_of(const IsIdle& is_idle,
                                                            TransferNumber newest, Seconds now);

  [[nodiscard]] bool are_in_flight(const Way& way, Seconds now) const;
  /// In flight, or over but not forgotten yet.
  [[nodiscard]] bool has(const Way& way) const;
  [[nodiscard]] bool empty() const { return by_stream_.empty(); }
  /// True if the stream's last transfer is not over.
  [[nodiscard]] bool is_busy(StreamHandle stream, Seconds now) const;

  [[nodiscard]] auto begin() const { return by_stream_.begin(); }
  [[nodiscard]] auto end() const { return by_stream_.end(); }

 private:
  std::map<StreamHandle, RunningTransfer> by_stream_;
};

}  // namespace polypath::engine
