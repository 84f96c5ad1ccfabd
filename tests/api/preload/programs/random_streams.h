#pragma once
// Streams of every kind, threads that use them, and the order that CUDA promises between what is in
// them and what the program does itself.

#include <deque>
#include <future>

#include "random_memory.h"

namespace program {

enum class StreamKind { legacy, per_thread, blocking, non_blocking };

struct Stream {
  StreamKind kind;
  int gpu;
  CUstream handle;
  std::size_t thread;  ///< that alone can use it, of per-thread streams
  Queue queue;
  Clock clock = {};     ///< what is over before its next thing begins, by itself
  Clock last = {};      ///< what is over when its last thing is, which others may wait for
  Clock recorded = {};  ///< by the newest event
  bool destroyed = false;
  CUevent end = nullptr;  ///< recorded before it was destroyed

  [[nodiscard]] std::string name() const {
    constexpr const char* kNames[] = {"legacy", "per-thread", "blocking", "non-blocking"};
    return "stream " + std::to_string(queue) + " (" + kNames[static_cast<int>(kind)] + ", GPU " +
           std::to_string(gpu) + ")";
  }
  [[nodiscard]] bool waits_for_legacy() const {
    return kind == StreamKind::blocking || kind == StreamKind::per_thread;
  }
};

/// With the option trace=1, what is done, on stderr.
template <class... Values>
void trace(const char* format, Values... values) {
  static const bool wanted = options().number("trace", 0) != 0;
  if (wanted) std::fprintf(stderr, format, values...);
}

/// A thread of the program. It does what it is told while somebody waits for that.
class Worker {
 public:
  Worker() : thread_([this] { work(); }) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    give({});
    thread_.join();
  }
  void run(const std::function<void()>& task) {
    std::packaged_task<void()> packed(task);
    auto done = packed.get_future();
    give(std::move(packed));
    done.get();
  }

 private:
  void give(std::packaged_task<void()> task) {
    {
      const std::scoped_lock lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_all();
  }
  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !tasks_.empty(); });
      std::packaged_task<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      if (!task.valid()) return;
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<void()>> tasks_;
  std::thread thread_;  // last: it uses the others
};

/// The streams of a program with their clocks. The program's threads take turns, so that they have
/// one clock between them.
class Streams {
 public:
  Stream& add(StreamKind kind, int gpu, CUstream handle, std::size_t thread = 0) {
    all_.push_back({kind, gpu, handle, thread, all_.size()});
    return all_.back();
  }
  std::deque<Stream>& all() { return all_; }
  Stream& of(Queue queue) { return all_[queue]; }

  /// What is over before the next thing in the stream begins.
  Clock next(const Stream& stream) {
    Clock clock = stream.clock;
    clock.join(host_);
    for (const Stream& other : all_)
      if (other.gpu == stream.gpu && !other.destroyed && waits(stream, other))
        clock.join(other.last);
    return clock;
  }
  /// The next thing in the stream.
  Moment enqueue(Stream& stream) {
    stream.clock = next(stream);
    const Moment moment = stream.clock.tick(stream.queue);
    stream.last = stream.clock;
    return moment;
  }
  void wait(Stream& stream, const Clock& event) { stream.clock.join(event); }

  [[nodiscard]] const Clock& host() const { return host_; }
  void synchronized(const Clock& with) { host_.join(with); }
  void synchronized(const Stream& stream) {
    host_.join(stream.kind == StreamKind::legacy ? next(stream) : stream.clock);
  }
  void context_synchronized(int gpu) {
    for (const Stream& stream : all_)
      if (stream.gpu == gpu && !stream.destroyed) host_.join(stream.clock);
  }

 private:
  static bool waits(const Stream& later, const Stream& earlier) {
    if (later.kind == StreamKind::legacy) return earlier.waits_for_legacy();
    return later.waits_for_legacy() && earlier.kind == StreamKind::legacy;
  }

  std::deque<Stream> all_;
  Clock host_;
};

}  // namespace program
