#pragma once
// Threads that copy ordinary memory side by side: one thread reaches a small part of what the
// memory can do.

#include <memory>

#include "core/cpus.h"
#include "core/units.h"
#include "driver/driver.h"
#include "engine/pageable/copy_queue.h"

namespace polypath::engine {

/// Thread-safe. Copies are begun in the order of start(); each is cut into pieces, which the
/// threads take one by one, so that none waits for a slower one before the last piece.
class CopyThreads {
 public:
  using Ticket = CopyQueue::Ticket;

  /// `threads` copy at once, the one that calls help() included. Where the system has no more
  /// threads to give, fewer do.
  explicit CopyThreads(int threads);
  CopyThreads(const CopyThreads&) = delete;
  CopyThreads& operator=(const CopyThreads&) = delete;
  /// Finishes what was started. In a forked child, which has none of its parent's threads, leaves
  /// everything as it is.
  ~CopyThreads();

  /// The threads use these CPUs from here on, and no more of them work than there are CPUs. Not
  /// while a copy is in progress.
  void follow(const CpuSet& cpus);
  /// Starts a copy and returns at once. The memory must stay until it is done.
  Ticket start(const MemoryCopy& copy);
  /// True if all bytes of the copy are there, for the calling thread to see.
  [[nodiscard]] bool is_done(Ticket ticket);
  /// Copies one piece in the calling thread; false if none is left to take.
  bool help();
  /// Helps until all that was started is done.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
  int process_;  ///< the one that has the threads
};

}  // namespace polypath::engine
