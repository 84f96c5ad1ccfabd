#include "engine/execute/queue_depth.h"

#include <algorithm>
#include <utility>

#include "core/ignore_errors.h"

namespace polypath::engine {

// Work counts as queued while the driver cannot say that it is done.
bool QueueDepth::is_done(const Mark& mark) const {
  bool done = false;
  return ignore_errors([&] { done = driver_.is_done(mark.event); }) && done;
}

void QueueDepth::retire() {
  while (!marks_.empty() && is_done(marks_.front())) {
    marked_ -= marks_.front().entries;
    spare_.push_back(std::move(marks_.front().events));
    marks_.pop_front();
  }
}

// One transfer of more entries than there is room for has room where nothing else is queued: its
// call waits for some of its own copies, which start at once.
bool QueueDepth::fits(std::size_t entries) {
  const std::size_t asked = std::min(entries, most_ - entries_per_mark());
  const auto fits = [&] { return marked_ + unmarked_ + asked <= most_; };
  if (!fits()) retire();
  return fits();
}

void QueueDepth::add(std::size_t entries, StreamHandle stream, PlaceId gpu) {
  unmarked_ += entries;
  if (unmarked_ < entries_per_mark()) return;
  Mark mark;
  if (spare_.empty()) {
    mark.events = std::make_unique<EventSet>(driver_);
  } else {
    mark.events = std::move(spare_.back());
    spare_.pop_back();
  }
  mark.event = mark.events->on(gpu);
  mark.entries = std::exchange(unmarked_, 0);
  driver_.record(mark.event, stream);
  marked_ += mark.entries;
  marks_.push_back(std::move(mark));
}

}  // namespace polypath::engine
