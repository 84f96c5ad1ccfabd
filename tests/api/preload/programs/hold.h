#pragma once
// Streams that are held until somebody lets them go, and whether a call came back before.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "options.h"

namespace program {

/// What holds a stream: a word in memory, a host function that does not return, or work of the GPU
/// that takes a while and cannot be let go.
enum class By { value, function, work };

inline const char* text_of(By by) {
  return by == By::value ? "value" : by == By::function ? "function" : "work";
}

/// Option `by`.
inline By usual_hold(By otherwise = By::value) {
  const std::string wanted = options().text("by", text_of(otherwise));
  return wanted == "value" ? By::value : wanted == "work" ? By::work : By::function;
}

/// Holds a stream from here on until it is let go. What it needs is made before anything is held,
/// because making it may wait for a stream, in the current context.
class Hold {
 public:
  explicit Hold(By by) : by_(by), word_(new_word()) {
    if (by == By::work) CHECK(cuMemAlloc_v2(&scratch_, fill_bytes()));
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() {
    release();
    if (by_ == By::work) CHECK(cuMemFree_v2(scratch_));
  }

  void in(CUstream stream) { CHECK(try_in(stream)); }
  CUresult try_in(CUstream stream) {
    if (by_ == By::work) return work_in(stream);
    if (by_ == By::value)
      return cuStreamWaitValue32_v2(stream, reinterpret_cast<CUdeviceptr>(word_), 1, kEqual);
    return cuLaunchHostFunc(
        stream, [](void* word) { wait_for(static_cast<Word*>(word)); }, word_);
  }
  void release() { word_->store(1); }

 private:
  using Word = std::atomic<std::uint32_t>;
  static constexpr unsigned kEqual = 1;

  // Options fills and fill: about 15 ms of a fast GPU.
  static std::size_t fill_bytes() { return options().number("fill", 256 * kMiB); }
  CUresult work_in(CUstream stream) const {
    CUresult result = 0;
    for (std::size_t i = options().number("fills", 150); i > 0 && result == 0; --i)
      result = cuMemsetD8Async(scratch_, static_cast<unsigned char>(i), fill_bytes(), stream);
    return result;
  }
  static void wait_for(const Word* word) {
    while (word->load() == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  /// Never given back: the GPU may still look at it.
  static Word* new_word() {
    constexpr std::size_t kWords = 4096;
    static Word* const words = static_cast<Word*>(pinned(kWords * sizeof(Word)));
    static std::atomic<std::size_t> used{0};
    const std::size_t mine = used++;
    EXPECT(mine < kWords);
    return new (words + mine) Word(0);
  }

  By by_;
  Word* word_;
  CUdeviceptr scratch_ = 0;
};

/// The other threads of this process that run or wait for a processor.
inline std::set<std::string> others_that_run() {
  std::set<std::string> running;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    const auto name_end =
        stat.rfind(')');  // "pid (name) state ..."; of a thread that has just ended nothing
    if (name_end != std::string::npos && stat.compare(name_end, 3, ") R") == 0)
      running.insert(task.path().filename());
  }
  running.erase(std::to_string(gettid()));
  return running;
}

/// Runs `action` in a thread of its own once all other threads have been waiting for some time
/// without a break, unless it is taken back before. A thread that wants a processor at two looks in
/// a row is such a break, so that a busy computer makes no difference; one that looks for something
/// every now and then is none. Where threads wait without ever sleeping, as they may on GPUs, it is
/// after twenty times that time.
class After {
 public:
  After(std::chrono::milliseconds time, std::function<void()> action)
      : thread_([this, time, action = std::move(action)] {
          if (!is_idle_for(time)) return;
          happened_ = true;
          action();
        }) {}
  After(const After&) = delete;
  After& operator=(const After&) = delete;
  ~After() {
    if (thread_.joinable()) thread_.join();
  }
  /// Whether it was too late for that.
  bool take_back() {
    {
      const std::scoped_lock lock(mutex_);
      taken_back_ = true;
    }
    changed_.notify_all();
    thread_.join();
    return happened_;
  }

 private:
  /// False if taken back.
  bool is_idle_for(std::chrono::milliseconds time) {
    constexpr std::chrono::milliseconds kLook{5};
    std::set<std::string> before;
    std::unique_lock lock(mutex_);
    for (std::chrono::milliseconds idle{0}, all{0}; idle < time && all < 20 * time; all += kLook) {
      if (changed_.wait_for(lock, kLook, [this] { return taken_back_; })) return false;
      std::set<std::string> now = others_that_run();
      const bool goes_on = std::any_of(now.begin(), now.end(), [&](const std::string& thread) {
        return before.contains(thread);
      });
      idle = goes_on ? std::chrono::milliseconds{0} : idle + kLook;
      before = std::move(now);
    }
    return true;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool taken_back_ = false, happened_ = false;
  std::thread thread_;
};

inline std::chrono::milliseconds watchdog_time() {
  return std::chrono::milliseconds(options().number("watchdog", 300));
}

/// Whether `calls` come back only because `hold` was let go after a while.
inline bool blocks(Hold& hold, const std::function<void()>& calls) {
  After watchdog(watchdog_time(), [&] { hold.release(); });
  calls();
  return watchdog.take_back();
}

}  // namespace program
