#include "api/preload/stream_watch.h"

namespace polypath::preload {
namespace {

// Streams come and go; the driver is asked again about a forgotten stream.
constexpr std::size_t kMostStreams = 1024;

}  // namespace

StreamWatch& StreamWatch::of_process() {
  static auto& watch = *new StreamWatch;
  return watch;
}

StreamWatch::Key StreamWatch::key_of(cuda::StreamPointer stream, cuda::ContextPointer context) {
  return {stream, context, context == nullptr ? std::thread::id{} : std::this_thread::get_id()};
}

std::uint64_t StreamWatch::noted(cuda::StreamPointer stream, Order order) {
  const Counter& counter = order == Order::alone ? counter_of(stream) : all_;
  return counter.load(std::memory_order_acquire);
}

// Read before asking: work noted meanwhile counts as new.
bool StreamWatch::waits_for_nobody(cuda::StreamPointer stream, Order order,
                                   cuda::ContextPointer context,
                                   const std::function<bool()>& is_idle) {
  const Key key = key_of(stream, context);
  const std::uint64_t now = noted(stream, order);
  {
    const std::scoped_lock lock(mutex_);
    const auto known = idle_at_.find(key);
    if (known != idle_at_.end() && known->second == now) return true;
  }
  if (!is_idle()) return false;
  const std::scoped_lock lock(mutex_);
  if (idle_at_.size() >= kMostStreams) idle_at_.clear();
  idle_at_[key] = now;
  return true;
}

bool StreamWatch::may_wait(cuda::StreamPointer stream, Order order, cuda::ContextPointer context) {
  const std::uint64_t now = noted(stream, order);
  if (now == 0) return false;
  const std::scoped_lock lock(mutex_);
  const auto known = idle_at_.find(key_of(stream, context));
  return known == idle_at_.end() || known->second != now;
}

}  // namespace polypath::preload
