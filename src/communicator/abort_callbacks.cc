#include "communicator/abort_callbacks.h"

#include <utility>

namespace polypath::communicator {

void AbortCallbacks::add(Communicator::Callback callback) {
  {
    const std::scoped_lock lock(mutex_);
    if (!told_) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

void AbortCallbacks::tell() {
  std::unique_lock lock(mutex_);
  told_ = true;
  const std::vector<Communicator::Callback> callbacks = std::exchange(callbacks_, {});
  if (callbacks.empty()) return;
  ++telling_;
  lock.unlock();
  for (const Communicator::Callback& callback : callbacks) callback();
  lock.lock();
  --telling_;
  all_told_.notify_all();
}

void AbortCallbacks::forget() {
  const std::scoped_lock lock(mutex_);
  callbacks_.clear();
}

void AbortCallbacks::await_told() {
  std::unique_lock lock(mutex_);
  all_told_.wait(lock, [this] { return telling_ == 0; });
}

}  // namespace polypath::communicator
