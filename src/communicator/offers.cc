#include "communicator/offers.h"

#include <chrono>
#include <thread>

namespace polypath {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Seconds kMostWhileBusy{20e-3};

constexpr std::uint64_t value_of(std::uint64_t number, std::uint64_t state) {
  return number << 2 | state;
}
constexpr std::uint64_t number_of(std::uint64_t value) { return value >> 2; }

}  // namespace

// Verdicts, then what each rank has passed, then offers, those of a slot side by side.
std::size_t Offers::bytes_for(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  return kSlots * sizeof(Verdict) + n * sizeof(Verdict) + kSlots * n * sizeof(Offer);
}

Offers::Verdict& Offers::verdict() const {
  return static_cast<Verdict*>(memory_)[number_ % kSlots];
}

std::atomic<std::uint64_t>& Offers::passed(int rank) const {
  return static_cast<Verdict*>(memory_)[kSlots + static_cast<std::size_t>(rank)].value;
}

Offers::Offer& Offers::offer_of(int rank) const {
  auto* const verdicts = static_cast<Verdict*>(memory_);
  auto* const offers = reinterpret_cast<Offer*>(verdicts + kSlots + ranks_);
  return offers[number_ % kSlots * static_cast<std::size_t>(ranks_) +
                static_cast<std::size_t>(rank)];
}

bool Offers::has_all_passed(std::uint64_t number) const {
  for (int rank = 0; rank < ranks_; ++rank)
    if (passed(rank).load(std::memory_order_acquire) < number) return false;
  return true;
}

bool Offers::have_all_offered() const {
  for (int rank = 0; rank < ranks_; ++rank)
    if (offer_of(rank).number.load(std::memory_order_acquire) != number_) return false;
  return true;
}

// False if the others are so far ahead that the slot is of a later decision.
bool Offers::enter() {
  std::uint64_t value = verdict().value.load(std::memory_order_acquire);
  while (number_of(value) < number_)
    if (verdict().value.compare_exchange_weak(value, value_of(number_, open))) return true;
  return number_of(value) == number_;
}

void Offers::publish(const Words& mine) {
  Offer& own = offer_of(local_);
  for (std::size_t i = 0; i < kWords; ++i) own.words[i].store(mine[i], std::memory_order_relaxed);
  own.number.store(number_, std::memory_order_release);
}

bool Offers::settle(State state) {
  std::uint64_t expected = value_of(number_, open);
  return verdict().value.compare_exchange_strong(expected, value_of(number_, state));
}

// Who is waited for may need this very core. Whether this rank is busy is asked only when its
// patience has run out, because that keeps other threads from the driver, and then anew.
Offers::State Offers::wait(Seconds patience, const std::function<bool()>& is_busy) {
  const auto now = [start = Clock::now()] {
    return Seconds{std::chrono::duration<double>(Clock::now() - start).count()};
  };
  for (Seconds end = patience;;) {
    const std::uint64_t value = verdict().value.load(std::memory_order_acquire);
    if (number_of(value) != number_) return refused;
    if (value != value_of(number_, open)) return static_cast<State>(value & 3);
    if (have_all_offered()) (void)settle(accepted);
    else if (now() <= end) std::this_thread::yield();
    else if (is_busy && now() <= kMostWhileBusy && is_busy()) end = now() + patience;
    else waited_in_vain_ = settle(refused);
  }
}

std::optional<std::vector<Offers::Words>> Offers::decide(const std::optional<Words>& mine,
                                                         Seconds patience,
                                                         const std::function<bool()>& is_busy) {
  ++number_, waited_in_vain_ = false;
  std::optional<std::vector<Words>> all;
  // Before that the slot is left alone: a rank may still have to read the verdict in it.
  const bool is_free = number_ <= kSlots || has_all_passed(number_ - kSlots);
  if (is_free && enter()) {
    if (mine) publish(*mine);
    else (void)settle(refused);
    if (mine && wait(patience, is_busy) == accepted) {
      all.emplace(static_cast<std::size_t>(ranks_));
      for (int rank = 0; rank < ranks_; ++rank)
        for (std::size_t i = 0; i < kWords; ++i)
          (*all)[static_cast<std::size_t>(rank)][i] =
              offer_of(rank).words[i].load(std::memory_order_relaxed);
    }
  }
  passed(local_).store(number_, std::memory_order_release);
  return all;
}

}  // namespace polypath
