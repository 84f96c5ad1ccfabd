#pragma once
// A mutex for data that is held for about a microsecond. A thread that finds it taken looks again
// for some microseconds before it sleeps: to be woken takes longer than that. Programs with a
// thread for each GPU make their copies at the same moment: two of 2 to 16 MiB, one each way, took
// 1.07 to 1.2 times as long with mutexes that sleep at once
// (results/h200x4/both_ways_threads.json).

#include <mutex>

namespace polypath {

class BriefMutex {
 public:
  void lock() {
    for (int look = 0; look < kLooks; ++look) {
      if (mutex_.try_lock()) return;
      pause();
    }
    mutex_.lock();
  }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  static constexpr int kLooks = 64;  ///< about 3 us

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
  }

  std::mutex mutex_;
};

}  // namespace polypath
