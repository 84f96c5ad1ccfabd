#include "core/background.h"

#include <system_error>
#include <utility>

#include "core/process.h"
#include "core/signals.h"

namespace polypath {

Background::Background() : generation_(process_generation()) {}

Background::~Background() {
  stop();
  // The thread of a forked child's parent can be neither joined nor destroyed.
  if (thread_.joinable()) new std::thread(std::move(thread_));
}

void Background::post(Task task) {
  if (process_generation() != generation_) return;
  const std::scoped_lock lock(mutex_);
  if (stopped_) return;
  tasks_.push_back(std::move(task));
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
  for (;;) {
    Task task;
    {
      const std::scoped_lock lock(mutex_);
      working_ = !tasks_.empty() && !stopped_;
      if (!working_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

void Background::stop() noexcept {
  if (process_generation() != generation_) return;
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    tasks_.clear();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace polypath
