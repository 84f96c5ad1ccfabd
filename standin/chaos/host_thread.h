#pragma once
// The thread on which functions of the program run, one after another: CUDA promises no more.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace polypath::standin::chaos {

class HostThread {
 public:
  HostThread();
  HostThread(const HostThread&) = delete;
  HostThread& operator=(const HostThread&) = delete;

  void start(std::function<void()> task);

 private:
  // Outlives the object: the thread may be in a function of the program when the process ends.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> tasks;
  };
  static void work(Shared& shared);

  Shared& shared_;
};

/// Signals that are not the calling thread's own doing go to other threads from now on.
void leave_signals_to_others();

}  // namespace polypath::standin::chaos
