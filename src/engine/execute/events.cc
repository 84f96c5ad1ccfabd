#include "engine/execute/events.h"

namespace polypath::engine {

EventSet::~EventSet() {
  for (const auto& [gpu, event] : events_)
    ignore_errors([&, made = event] { driver_.destroy_event(made); });
}

EventHandle EventSet::on(PlaceId gpu) {
  const auto found = events_.find(gpu);
  if (found != events_.end()) return found->second;
  return events_[gpu] = driver_.create_event(gpu);
}

EventList::~EventList() {
  for (const EventHandle event : events_) ignore_errors([&] { driver_.destroy_event(event); });
}

EventHandle EventList::at(int number) {
  while (events_.size() <= static_cast<std::size_t>(number))
    events_.push_back(driver_.create_event(gpu_));
  return events_[static_cast<std::size_t>(number)];
}

std::unique_ptr<EventSet> EventPool::take() {
  const std::scoped_lock lock(mutex_);
  if (spare_.empty()) return std::make_unique<EventSet>(driver_);
  auto taken = std::move(spare_.back());
  spare_.pop_back();
  return taken;
}

void EventPool::give_back(std::unique_ptr<EventSet> events) {
  const std::scoped_lock lock(mutex_);
  spare_.push_back(std::move(events));
}

}  // namespace polypath::engine
