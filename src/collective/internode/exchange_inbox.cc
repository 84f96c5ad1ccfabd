#include "collective/internode/exchange_inbox.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace polypath::collective {

void ExchangeInbox::add(ExchangeTask task) {
  {
    const std::scoped_lock lock(mutex_);
    new_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void ExchangeInbox::abort(const Error& why) {
  {
    const std::scoped_lock lock(mutex_);
    if (!aborted_) aborted_ = why;
  }
  changed_.notify_one();
}

void ExchangeInbox::stop(const Deadline& by) {
  {
    const std::scoped_lock lock(mutex_);
    stops_ = by;
  }
  changed_.notify_one();
}

ExchangeInbox::News ExchangeInbox::await(bool is_busy, bool has_failed) {
  std::unique_lock lock(mutex_);
  const auto has_work = [&] { return is_busy || !new_.empty(); };
  const auto is_aborted = [&] { return aborted_ && !has_failed; };
  changed_.wait(lock, [&] { return stops_ || has_work() || is_aborted(); });
  if (is_aborted()) return {.has_work = true, .aborted = aborted_};
  return {.has_work = has_work() && !(stops_ && stops_->has_passed())};
}

void ExchangeInbox::take(std::deque<ExchangeTask>& tasks) {
  const std::scoped_lock lock(mutex_);
  std::move(new_.begin(), new_.end(), std::back_inserter(tasks));
  new_.clear();
}

}  // namespace polypath::collective
