#pragma once
// Measured times of copies that go one of two ways: ours, or by the driver alone. For copies of
// pageable memory (through pinned windows) and for transfers of exchanges. No model
// predicts them well: windows depend on how late the computer's threads wake, exchanges on what
// the driver does for the other transfer. Copies of a kind, alike in ends and size class
// (contention.h), are compared:
//
//   1. The first one that goes our way only makes what it needs. Of those that follow some are
//      timed, at first all of them.
//   2. After three times every other one goes natively, until there are three times of those, or
//      the first has taken more than twice as long as ours. Not where ours takes no longer than a
//      native copy does at best; and not before a native copy is expected to take no more than a
//      tenth of what the copies so far have taken together.
//   3. From then on the copies go the way with the smaller median of the last times, unless the
//      other's is hardly larger. One in 16 goes the other way, or fewer where that takes much
//      longer, so that tries take no more than one part in a hundred. Timing a native copy of
//      pageable memory means waiting for the work before it, so only some of those are timed.
//
// Arithmetic only, counted in copies; the engine does the measuring. Not thread-safe.

#include "engine/learn/experience.h"
#include "engine/learn/recent_times.h"
#include "plan/lru_cache.h"

namespace polypath::engine {

enum class ComparedWay { ours, native };

/// The time of one native copy, as far as it is known before one is timed.
struct NativeTime {
  Seconds at_best;
  Seconds expected;  ///< zero: tries cost nothing worth counting
};

class WayTimes {
 public:
  explicit WayTimes(std::size_t kinds) : records_(kinds) {}

  struct Advice {
    ComparedWay way = ComparedWay::ours;
    bool timed = false;
  };

  /// About the next copy of a kind; counts it.
  Advice suggest(const TransferKind& kind, const NativeTime& native = {});
  /// True if copies of the kind go natively, apart from tries.
  [[nodiscard]] bool goes_natively(const TransferKind& kind);
  /// A copy of the kind took so long.
  void note(const TransferKind& kind, ComparedWay way, Seconds took);

 private:
  struct Record {
    ComparedWay way = ComparedWay::ours;
    RecentTimes ours, native;
    Seconds spent;         ///< by those of ours that were timed
    bool is_warm = false;  ///< one has gone our way
    int since_tried = 0;   ///< the other way
    int native_tries = 0;
  };

  [[nodiscard]] Record& record_of(const TransferKind& kind);
  [[nodiscard]] static bool is_tried_otherwise(Record& record, const NativeTime& native);
  [[nodiscard]] static bool may_try_native(const Record& record, const NativeTime& native);
  [[nodiscard]] static bool are_known(const Record& record);
  [[nodiscard]] static int try_period(const Record& record);
  static void choose(Record& record);

  LruCache<TransferKind, Record> records_;
};

}  // namespace polypath::engine
