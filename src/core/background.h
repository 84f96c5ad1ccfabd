#pragma once
// Work that must not hold the program up: done one task after another by a thread of our own.

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "core/layers.h"
#include "core/units.h"

namespace polypath {

/// Thread-safe. There is a thread while there are tasks and for some time more, so that the next
/// task's caller need not wait for a new one. It sees none of the program's signals
/// (ThreadSignals), and may use any CPU: launchers bind a process to one, on which the program
/// itself is at work. In a forked child nothing is done any more.
class Background {
 public:
  /// Must not throw.
  using Task = std::function<void()>;

  /// At low priority its thread gives way to all others, and so do threads that a task starts: on a
  /// busy computer it may not run at all.
  enum class Priority { low, normal };

  /// A thread that starts costs the caller of post() 0.1 ms (results/first_copy.json).
  static constexpr Seconds kLingers{10};

  /// A thread that has no task left waits so long for the next one.
  explicit Background(Priority priority = Priority::low, Seconds lingers = kLingers);
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  /// As stop().
  ~Background();

  /// Its thread starts now, and not in the call that posts the first task.
  void start() {
    post([] {});
  }
  /// Does the task after those given before. Drops it after stop(), and where the system has no
  /// more threads to give.
  void post(Task task);
  /// For a task: waits that long, or until stop(); false then.
  [[nodiscard]] bool pause(Seconds duration);
  /// Waits for the task in progress and drops the others. Not to be called by a task.
  void stop() noexcept;

 private:
  void work();

  /// The thread waits for them. In a forked child they count their parent's thread, and cannot be
  /// destroyed.
  struct Events {
    std::condition_variable posted, stopping;
  };

  std::mutex mutex_;
  std::unique_ptr<Events> events_ = std::make_unique<Events>();
  std::deque<Task> tasks_;
  std::thread thread_;
  bool working_ = false;
  bool stopped_ = false;
  Priority priority_;
  Seconds lingers_;
  int generation_;  ///< of the process that has the thread
};

}  // namespace polypath
