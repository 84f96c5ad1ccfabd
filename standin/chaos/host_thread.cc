#include "standin/chaos/host_thread.h"

#include <csignal>
#include <thread>
#include <utility>

#include "standin/state/runner.h"

namespace polypath::standin::chaos {

// Never joined: the thread waits for more work until the process ends.
HostThread::HostThread() : shared_(*new Shared) {
  std::thread([&shared = shared_] { work(shared); }).detach();
}

void HostThread::start(std::function<void()> task) {
  const std::scoped_lock lock(shared_.mutex);
  shared_.tasks.push_back(std::move(task));
  shared_.changed.notify_one();
}

void HostThread::work(Shared& shared) {
  leave_signals_to_others();
  calls_are_forbidden() = true;
  std::unique_lock lock(shared.mutex);
  for (;;) {
    shared.changed.wait(lock, [&] { return !shared.tasks.empty(); });
    const std::function<void()> task = std::move(shared.tasks.front());
    shared.tasks.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

void leave_signals_to_others() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&signals, own);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace polypath::standin::chaos
