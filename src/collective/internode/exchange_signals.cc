#include "collective/internode/exchange_signals.h"

#include "core/ignore_errors.h"
#include "model/program.h"

namespace polypath::collective {

ReadyEvents::~ReadyEvents() {
  for (const EventHandle event : free_) ignore_errors([&] { driver_.destroy_event(event); });
}

EventHandle ReadyEvents::take() {
  const std::scoped_lock lock(mutex_);
  if (free_.empty()) return driver_.create_event(gpu_);
  const EventHandle event = free_.back();
  free_.pop_back();
  return event;
}

void ReadyEvents::give_back(EventHandle event) {
  const std::scoped_lock lock(mutex_);
  free_.push_back(event);
}

SlotWords::SlotWords(Driver& driver, PlaceId host, int slots)
    : driver_(driver),
      host_(host),
      words_(driver.allocate_zeros(host, kFlagBytes * static_cast<std::uint64_t>(slots))),
      numbers_(static_cast<std::size_t>(slots)) {}

SlotWords::~SlotWords() {
  ignore_errors([&] { driver_.free(words_); });
}

Address SlotWords::word(int slot) const {
  return words_ + kFlagBytes * static_cast<std::uint64_t>(slot);
}

void SlotWords::await(int slot, StreamHandle stream) {
  driver_.wait_value(stream, word(slot), host_, numbers_[static_cast<std::size_t>(slot)]);
}

void SlotWords::write(int slot, std::uint32_t number) { driver_.signal(word(slot), host_, number); }

}  // namespace polypath::collective
