#pragma once
// Timing events that are used again.

#include <map>
#include <mutex>
#include <vector>

#include "driver/driver.h"
#include "driver/trace/timed_work.h"

namespace polypath::trace {

/// Thread-safe.
class SpareEvents {
 public:
  explicit SpareEvents(Driver& driver) : driver_(driver) {}
  SpareEvents(const SpareEvents&) = delete;
  SpareEvents& operator=(const SpareEvents&) = delete;
  /// Destroys all of them.
  ~SpareEvents();

  [[nodiscard]] EventHandle take(PlaceId gpu);
  void give_back(PlaceId gpu, EventHandle event) noexcept;
  /// Both events of a piece of work.
  void give_back(const TimedWork& timed) noexcept;

 private:
  Driver& driver_;
  std::mutex mutex_;
  std::map<PlaceId, std::vector<EventHandle>> spare_;
};

}  // namespace polypath::trace
