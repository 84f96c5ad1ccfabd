#include "engine/execute/stopwatch.h"

#include <algorithm>

#include "core/ignore_errors.h"

namespace polypath::engine {
namespace {

constexpr double kClearlyLater = 1.002;  // than what clocks differ by

}  // namespace

TimingEvents::~TimingEvents() {
  for (const auto& [gpu, events] : spare_)
    for (const EventHandle event : events) ignore_errors([&] { driver_.destroy_event(event); });
}

EventHandle TimingEvents::take(PlaceId gpu) {
  std::unique_lock lock(mutex_);
  std::vector<EventHandle>& spare = spare_[gpu];
  if (!spare.empty()) {
    const EventHandle event = spare.back();
    spare.pop_back();
    return event;
  }
  lock.unlock();
  return driver_.create_timing_event(gpu);
}

void TimingEvents::give_back(PlaceId gpu, EventHandle event) noexcept {
  const std::scoped_lock lock(mutex_);
  spare_[gpu].push_back(event);
}

Stopwatch::~Stopwatch() {
  give_back(whole_.gpu, whole_.begin);
  give_back(whole_.gpu, whole_.end);
  for (const auto& [number, queue] : queues_) give_back(queue.interval.gpu, queue.interval.begin);
  for (const TimedPath& path : paths_) {
    const auto queue = queues_.find(path.queue);
    give_back(queue == queues_.end() ? whole_.gpu : queue->second.interval.gpu, path.end);
  }
}

void Stopwatch::give_back(PlaceId gpu, EventHandle event) noexcept {
  if (event.value != 0) events_.give_back(gpu, event);
}

// After one failure the stopwatch tries nothing more.
template <class Action>
void Stopwatch::attempt(Action action) noexcept {
  if (failed_) return;
  failed_ = true;
  ignore_errors([&] {
    action();
    failed_ = false;
  });
}

void Stopwatch::begin(Interval& interval, StreamHandle stream, PlaceId gpu) {
  interval.gpu = gpu;
  interval.begin = events_.take(gpu);
  events_.driver().record(interval.begin, stream);
}

void Stopwatch::start(StreamHandle stream, PlaceId gpu) noexcept {
  attempt([&] {
    called_ = events_.driver().now();
    begin(whole_, stream, gpu);
  });
}

void Stopwatch::stop(StreamHandle stream) noexcept {
  attempt([&] {
    whole_.end = events_.take(whole_.gpu);
    events_.driver().record(whole_.end, stream);
  });
}

void Stopwatch::time_paths(const Program& program) {
  int number = 0;
  for (const Node& node : program.nodes()) {
    const auto path = static_cast<std::size_t>(std::max(node.path, 0));
    if (path >= paths_.size()) paths_.resize(path + 1);
    paths_[path] = {.last = number++, .queue = node.queue};
  }
}

bool Stopwatch::times(int queue) const {
  return queue != Program::kCallersQueue &&
         std::any_of(paths_.begin(), paths_.end(),
                     [&](const TimedPath& path) { return path.queue == queue; });
}

void Stopwatch::start_queue(int queue, StreamHandle stream, PlaceId gpu) noexcept {
  attempt([&] {
    TimedQueue& timed = queues_[queue];
    timed.issued = events_.driver().now() - called_;
    begin(timed.interval, stream, gpu);
  });
}

void Stopwatch::passed(int node, StreamHandle stream) noexcept {
  for (TimedPath& path : paths_) {
    if (path.last != node) continue;
    const auto queue = queues_.find(path.queue);
    const PlaceId gpu = queue == queues_.end() ? whole_.gpu : queue->second.interval.gpu;
    attempt([&] {
      path.end = events_.take(gpu);
      events_.driver().record(path.end, stream);
    });
  }
}

// A path cannot have ended later than the transfer.
Seconds Stopwatch::time_of(const TimedPath& path, Seconds whole) {
  const auto queue = queues_.find(path.queue);
  const bool own = queue != queues_.end();
  const EventHandle from = own ? queue->second.interval.begin : whole_.begin;
  const Seconds taken = events_.driver().elapsed(from, path.end).value_or(whole);
  return std::min(own ? taken + queue->second.issued : taken, whole);
}

// Where the transfer ends after all that the caller's stream itself has done, it has waited for the
// last of the others.
void Stopwatch::add_joins(Timing& timing) {
  Seconds own, joined;
  for (std::size_t path = 0; path < timing.paths.size(); ++path) {
    Seconds& latest = queues_.contains(paths_[path].queue) ? joined : own;
    latest = std::max(latest, timing.paths[path]);
  }
  if (joined > Seconds{} && timing.whole > own * kClearlyLater)
    events_.join = timing.whole - joined;
  for (std::size_t path = 0; path < timing.paths.size(); ++path)
    if (queues_.contains(paths_[path].queue)) timing.paths[path] += events_.join;
}

std::optional<Timing> Stopwatch::read() noexcept {
  std::optional<Timing> timing;
  attempt([&] {
    const std::optional<Seconds> whole = events_.driver().elapsed(whole_.begin, whole_.end);
    if (!whole) return;
    Timing read{.whole = *whole, .paths = {}};
    for (const TimedPath& path : paths_) read.paths.push_back(time_of(path, *whole));
    add_joins(read);
    timing = std::move(read);
  });
  return timing;
}

}  // namespace polypath::engine
