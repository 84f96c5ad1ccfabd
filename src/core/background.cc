#include "core/background.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <new>
#include <system_error>
#include <utility>

#include "core/cpus.h"
#include "core/process.h"
#include "core/signals.h"

namespace polypath {
namespace {

constexpr int kGivesWay = 19;  // the largest nice value

// A setting that the system does not allow stays as it is.
void step_aside(Background::Priority priority) {
  CpuSet::all().bind(pthread_self());
  if (priority == Background::Priority::low)
    setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kGivesWay);
}

}  // namespace

Background::Background(Priority priority, Seconds lingers)
    : priority_(priority), lingers_(lingers), generation_(process_generation()) {}

Background::~Background() {
  stop();
  // The thread of a forked child's parent can be neither joined nor destroyed.
  if (!thread_.joinable()) return;
  new (std::nothrow) std::thread(std::move(thread_));
  (void)events_.release();
}

void Background::post(Task task) {
  if (process_generation() != generation_) return;
  const std::scoped_lock lock(mutex_);
  if (stopped_) return;
  tasks_.push_back(std::move(task));
  events_->posted.notify_one();
  if (working_) return;
  if (thread_.joinable()) thread_.join();  // it has left work() for good
  const ThreadSignals signals;
  try {
    thread_ = std::thread([this] { work(); });
    working_ = true;
  } catch (const std::system_error&) {
    tasks_.clear();
  }
}

void Background::work() {
  step_aside(priority_);
  for (;;) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      const std::chrono::duration<double> time(lingers_.value);
      events_->posted.wait_for(lock, time, [this] { return !tasks_.empty() || stopped_; });
      working_ = !tasks_.empty() && !stopped_;
      if (!working_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

bool Background::pause(Seconds duration) {
  std::unique_lock lock(mutex_);
  const std::chrono::duration<double> time(duration.value);
  return !events_->stopping.wait_for(lock, time, [this] { return stopped_; });
}

void Background::stop() noexcept {
  if (process_generation() != generation_) return;
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    tasks_.clear();
  }
  events_->stopping.notify_all();
  events_->posted.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace polypath
