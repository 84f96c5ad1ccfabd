#pragma once
// Measured times of copies of pageable memory: through pinned windows, and by the driver.
//
// Windows gain from some megabytes on, but from how many no model says: it depends on how late the
// computer's threads wake, and on how much of its memory one thread fills. So copies of a kind,
// alike in ends and size class (contention.h), are timed:
//
//   1. The first one through windows only makes what it needs. Those that follow are all timed.
//   2. After three times every other one goes natively, until there are three times of those, or
//      the first has taken more than twice as long as by windows.
//   3. From then on the copies go the way with the smaller median of the last times, unless the
//      other's is hardly larger. One in 16 goes the other way, or fewer where that takes much
//      longer, so that tries take no more than one part in a hundred. Timing a native copy means
//      waiting for the work before it, so only some of those are timed.
//
// Arithmetic only, counted in copies; the engine does the measuring. Not thread-safe.

#include "engine/learn/experience.h"
#include "engine/learn/recent_times.h"
#include "plan/lru_cache.h"

namespace polypath {

enum class PageableWay { windows, native };

class PageableTimes {
 public:
  explicit PageableTimes(std::size_t kinds) : records_(kinds) {}

  struct Advice {
    PageableWay way = PageableWay::windows;
    bool timed = false;  ///< of native ones; through windows all are
  };

  /// About the next copy of a kind; counts it.
  Advice suggest(const TransferKind& kind);
  /// A copy of the kind took so long.
  void note(const TransferKind& kind, PageableWay way, Seconds took);

 private:
  struct Record {
    PageableWay way = PageableWay::windows;
    RecentTimes windows, native;
    bool is_warm = false;  ///< one has gone through windows
    int since_tried = 0;   ///< the other way
  };

  [[nodiscard]] Record& record_of(const TransferKind& kind);
  [[nodiscard]] static bool is_tried_otherwise(Record& record);
  [[nodiscard]] static bool are_known(const Record& record);
  [[nodiscard]] static int try_period(const Record& record);
  static void choose(Record& record);

  LruCache<TransferKind, Record> records_;
};

}  // namespace polypath
