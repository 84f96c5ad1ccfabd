#include "driver/trace/spare_events.h"

#include "core/ignore_errors.h"

namespace polypath::trace {

SpareEvents::~SpareEvents() {
  for (const auto& [gpu, events] : spare_)
    for (const EventHandle event : events) ignore_errors([&] { driver_.destroy_event(event); });
}

EventHandle SpareEvents::take(PlaceId gpu) {
  {
    const std::scoped_lock lock(mutex_);
    if (auto& spare = spare_[gpu]; !spare.empty()) {
      const EventHandle event = spare.back();
      spare.pop_back();
      return event;
    }
  }
  return driver_.create_timing_event(gpu);
}

void SpareEvents::give_back(PlaceId gpu, EventHandle event) noexcept {
  if (event.value == 0) return;
  const std::scoped_lock lock(mutex_);
  spare_[gpu].push_back(event);
}

void SpareEvents::give_back(const TimedWork& timed) noexcept {
  give_back(timed.begun.gpu, timed.begun.event);
  give_back(timed.begun.gpu, timed.end);
}

}  // namespace polypath::trace
