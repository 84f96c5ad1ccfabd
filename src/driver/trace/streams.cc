#include "driver/trace/streams.h"

#include <utility>

namespace polypath::trace {
namespace {

// A program may make streams for ever, and does not say when a stream of its own is gone.
constexpr std::size_t kMostStreams = 4096;
constexpr std::size_t kMostAwaited = 16;

}  // namespace

void Streams::add(StreamHandle stream, PlaceId gpu, bool own) {
  const std::scoped_lock lock(mutex_);
  if (streams_.size() >= kMostStreams && !streams_.contains(stream)) return;
  const auto [entry, is_new] = streams_.try_emplace(stream, Stream{.gpu = gpu, .own = own});
  if (!is_new) entry->second.gpu = gpu;
}

void Streams::remove(StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  streams_.erase(stream);
}

// An event that has been read is used again, perhaps by work that is not over: then the pieces
// behind it count a little longer.
std::optional<Streams::Place> Streams::enter(StreamHandle stream,
                                             const std::function<bool(EventHandle)>& is_over) {
  const std::scoped_lock lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return std::nullopt;
  Stream& entered = found->second;
  const std::size_t most = entered.own ? kMostOfOwnStream : kMostOfForeignStream;
  if (entered.ends.size() >= most)
    while (!entered.ends.empty() && is_over(entered.ends.front())) entered.ends.pop_front();
  if (entered.ends.size() >= most) return std::nullopt;
  return Place{entered.gpu, entered.own, std::exchange(entered.awaited, {})};
}

void Streams::put(StreamHandle stream, const CopyLabel& label, EventHandle end) {
  const std::scoped_lock lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  found->second.last = label;
  found->second.ends.push_back(end);
}

void Streams::recorded(EventHandle event, StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end() || !found->second.last) {
    events_.erase(event);
    return;
  }
  events_[event] = {*found->second.last, stream};
}

void Streams::waits(StreamHandle stream, EventHandle event) {
  const std::scoped_lock lock(mutex_);
  const auto waiting = streams_.find(stream);
  if (waiting == streams_.end() || waiting->second.awaited.size() >= kMostAwaited) return;
  const auto awaited = events_.find(event);
  waiting->second.awaited.push_back(awaited == events_.end() ? Awaited{} : awaited->second);
}

void Streams::forget(EventHandle event) {
  const std::scoped_lock lock(mutex_);
  events_.erase(event);
}

Seconds Streams::exchange_end(StreamHandle stream, Seconds end) {
  const std::scoped_lock lock(mutex_);
  const auto found = streams_.find(stream);
  return found == streams_.end() ? Seconds{-1e9} : std::exchange(found->second.ended, end);
}

bool Streams::is_own(StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  const auto found = streams_.find(stream);
  return found != streams_.end() && found->second.own;
}

}  // namespace polypath::trace
