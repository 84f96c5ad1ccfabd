#pragma once
// The implementation of message_ring.h, over any kind of shared words (shared_words.h).

#include "communicator/node/message_ring.h"

namespace polypath::communicator {

template <class Shared>
bool MessageRingOn<Shared>::has_slot() const {
  const std::uint64_t next = number_ + 1;
  return next <= kSlots ||
         memory_->passed[other()].number.load(std::memory_order_acquire) >= next - kSlots;
}

// Each end writes its own offer before it looks: so the second one reads a complete offer, and none
// that is still to be read is written over, because the other end has passed the slot's last use.
// Without a slot that last use is not to be touched. Returns the slot's next word.
template <class Shared>
std::uint64_t MessageRingOn<Shared>::offer(Slot& here, const Offer& mine, bool unwilling) {
  here.offers[own_].memory.store(mine.memory, std::memory_order_relaxed);
  here.offers[own_].bytes.store(mine.bytes, std::memory_order_relaxed);
  return 4 * number_ + (unwilling ? left : made);
}

template <class Shared>
auto MessageRingOn<Shared>::decide(const Offer& mine, bool unwilling) -> Decision {
  const bool has_own = has_slot();
  Decision decision{.number = ++number_};
  Slot& here = slot(number_);
  std::uint64_t state = here.state.load(std::memory_order_acquire);
  if (last_of(state) < number_) {
    const std::uint64_t decided = has_own ? offer(here, mine, unwilling) : state + kLap;
    decision.is_first =
        here.state.compare_exchange_strong(state, decided, std::memory_order_acq_rel);
    if (decision.is_first) state = decided;
  }
  decision.is_made = number_of(state) == number_ && state % 4 == made;
  if (!decision.is_first) {
    decision.other.memory = here.offers[other()].memory.load(std::memory_order_relaxed);
    decision.other.bytes = here.offers[other()].bytes.load(std::memory_order_relaxed);
  }
  memory_->passed[own_].number.store(number_, std::memory_order_release);
  return decision;
}

template <class Shared>
void MessageRingOn<Shared>::close() {
  memory_->passed[own_].is_last.store(1, std::memory_order_release);
}

template <class Shared>
bool MessageRingOn<Shared>::is_closed() const {
  return memory_->passed[own_].is_last.load(std::memory_order_relaxed) != 0 ||
         memory_->passed[other()].is_last.load(std::memory_order_acquire) != 0;
}

template <class Shared>
bool MessageRingOn<Shared>::has_other_come(std::uint64_t number) const {
  return memory_->passed[other()].number.load(std::memory_order_acquire) >= number;
}

}  // namespace polypath::communicator
