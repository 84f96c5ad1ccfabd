#pragma once
// How long one may still wait.

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/interruption.h"
#include "core/units.h"

namespace polypath::communicator {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  /// From now on; a timeout of more than a year is one of a year.
  explicit Deadline(Seconds timeout)
      : end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(
                 std::chrono::duration<double>(std::clamp(timeout.value, 0.0, kLongest)))) {}

  [[nodiscard]] bool has_passed() const { return Clock::now() >= end_; }
  [[nodiscard]] Clock::time_point end() const { return end_; }
  /// For poll(): at most `most`, at least 0.
  [[nodiscard]] int milliseconds_left(int most) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, most));
  }

 private:
  static constexpr double kLongest = 366.0 * 24 * 3600;

  Clock::time_point end_;
};

/// Asks again and again, less and less often, until the answer is yes or the time is over: false.
template <class Question>
bool wait_until(const Deadline& deadline, Question question) {
  constexpr std::chrono::milliseconds kLongestPause{20};
  std::chrono::milliseconds between{1};
  while (!question()) {
    if (deadline.has_passed()) return false;
    check_interruption();
    std::this_thread::sleep_for(between);
    between = std::min(between * 2, kLongestPause);
  }
  return true;
}

}  // namespace polypath::communicator
