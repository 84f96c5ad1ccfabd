#include "standin/virtual_time/host_functions.h"

#include <thread>
#include <utility>

namespace polypath::standin {

void HostFunctions::start(StreamHandle stream, std::function<void()> function) {
  const std::scoped_lock lock(mutex_);
  tasks_.push_back({stream, std::move(function)});
  ++pending_[stream];
  // Never joined: the thread waits for more work until the process ends.
  if (!std::exchange(started_, true)) std::thread([this] { work(); }).detach();
  changed_.notify_all();
}

void HostFunctions::finish(StreamHandle stream) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !pending_.contains(stream); });
}

bool HostFunctions::is_pending(StreamHandle stream) const {
  const std::scoped_lock lock(mutex_);
  return pending_.contains(stream);
}

void HostFunctions::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !tasks_.empty(); });
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task.function();
    lock.lock();
    if (--pending_[task.stream] == 0) pending_.erase(task.stream);
    changed_.notify_all();
  }
}

}  // namespace polypath::standin
