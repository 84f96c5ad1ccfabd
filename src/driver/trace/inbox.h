#pragma once
// What has been recorded and not yet been looked at.

#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "driver/trace/timed_work.h"

namespace polypath::trace {

/// How much is kept at most.
struct Limits {
  std::size_t in_flight = 8192;  ///< pieces of work that are not written yet
  std::size_t calls = 8192;      ///< the same
};

/// Thread-safe.
class Inbox {
 public:
  explicit Inbox(Limits limits) : limits_(limits) {}

  /// False if more work would be too much.
  [[nodiscard]] bool has_room() const { return in_flight_ < limits_.in_flight; }
  /// A piece of work begins, or is written or dropped.
  void note_begin() { ++in_flight_; }
  void note_end() { --in_flight_; }

  void add(TimedWork timed) {
    const std::scoped_lock lock(mutex_);
    work_.push_back(std::move(timed));
  }
  /// False if there are too many: then it is not kept.
  [[nodiscard]] bool add(ThreadCall call) {
    const std::scoped_lock lock(mutex_);
    if (calls_.size() >= limits_.calls) return false;
    calls_.push_back(std::move(call));
    return true;
  }
  [[nodiscard]] std::vector<TimedWork> take_work() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(work_, {});
  }
  [[nodiscard]] std::vector<ThreadCall> take_calls() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(calls_, {});
  }

 private:
  Limits limits_;
  std::atomic<std::size_t> in_flight_{0};
  std::mutex mutex_;
  std::vector<TimedWork> work_;
  std::vector<ThreadCall> calls_;
};

}  // namespace polypath::trace
