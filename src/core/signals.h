#pragma once
// Which signals the threads of ours see.

#include <csignal>

namespace polypath {

/// While it lives, the calling thread passes on to the threads that it creates: all signals blocked
/// but those that a thread causes itself (SIGSEGV, SIGBUS, ...). The others are the program's
/// business; these are too, but only the thread that caused one can get it: a program that brings
/// pages in by a handler of its own must see the faults of our threads as well.
class ThreadSignals {
 public:
  ThreadSignals();
  ThreadSignals(const ThreadSignals&) = delete;
  ThreadSignals& operator=(const ThreadSignals&) = delete;
  ~ThreadSignals();

 private:
  sigset_t before_;
};

}  // namespace polypath
