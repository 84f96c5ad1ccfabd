#include "core/signals.h"

#include <pthread.h>

#include <array>

namespace polypath {

// Signals that the thread has blocked stay blocked.
ThreadSignals::ThreadSignals() {
  sigset_t blocked;
  sigfillset(&blocked);
  for (const int caused : std::array{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
    sigdelset(&blocked, caused);
  pthread_sigmask(SIG_BLOCK, &blocked, &before_);
}

ThreadSignals::~ThreadSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace polypath
