#pragma once
// The implementation of agreement_ring.h, over any kind of shared words (shared_words.h).

#include "communicator/node/agreement_ring.h"

namespace polypath::communicator {
namespace of_offers {

inline constexpr Seconds kMostWhileBusy{20e-3};

constexpr std::uint64_t value_of(std::uint64_t number, std::uint64_t state) {
  return number << 2 | state;
}
constexpr std::uint64_t number_of(std::uint64_t value) { return value >> 2; }

}  // namespace of_offers

// Verdicts, then the last decision that each rank has passed, then votes, those of a slot side by
// side.
template <class Shared>
std::size_t AgreementRingOn<Shared>::bytes_for(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  return kSlots * sizeof(Verdict) + n * sizeof(Verdict) + kSlots * n * sizeof(Offer);
}

template <class Shared>
auto AgreementRingOn<Shared>::verdict() const -> Verdict& {
  return static_cast<Verdict*>(memory_)[number_ % kSlots];
}

template <class Shared>
auto AgreementRingOn<Shared>::passed(int rank) const -> Word<std::uint64_t>& {
  return static_cast<Verdict*>(memory_)[kSlots + static_cast<std::size_t>(rank)].value;
}

template <class Shared>
auto AgreementRingOn<Shared>::offer_of(int rank) const -> Offer& {
  auto* const verdicts = static_cast<Verdict*>(memory_);
  auto* const offers = reinterpret_cast<Offer*>(verdicts + kSlots + ranks_);
  return offers[number_ % kSlots * static_cast<std::size_t>(ranks_) +
                static_cast<std::size_t>(rank)];
}

template <class Shared>
bool AgreementRingOn<Shared>::has_all_passed(std::uint64_t number) const {
  for (int rank = 0; rank < ranks_; ++rank)
    if (passed(rank).load(std::memory_order_acquire) < number) return false;
  return true;
}

template <class Shared>
bool AgreementRingOn<Shared>::have_all_offered() const {
  for (int rank = 0; rank < ranks_; ++rank)
    if (offer_of(rank).number.load(std::memory_order_acquire) != number_) return false;
  return true;
}

// False if the others are so far ahead that the slot is of a later decision.
template <class Shared>
bool AgreementRingOn<Shared>::enter() {
  std::uint64_t value = verdict().value.load(std::memory_order_acquire);
  while (of_offers::number_of(value) < number_)
    if (verdict().value.compare_exchange_weak(value, of_offers::value_of(number_, open)))
      return true;
  return of_offers::number_of(value) == number_;
}

template <class Shared>
void AgreementRingOn<Shared>::publish(const Words& mine) {
  Offer& own = offer_of(local_);
  for (std::size_t i = 0; i < kWords; ++i) own.words[i].store(mine[i], std::memory_order_relaxed);
  own.number.store(number_, std::memory_order_release);
}

template <class Shared>
bool AgreementRingOn<Shared>::settle(State state) {
  std::uint64_t expected = of_offers::value_of(number_, open);
  return verdict().value.compare_exchange_strong(expected, of_offers::value_of(number_, state));
}

// `is_busy` is asked only when the timeout has ended, because the question keeps other threads from
// the driver. It is asked again when each further timeout ends.
template <class Shared>
auto AgreementRingOn<Shared>::wait(Seconds timeout, const std::function<bool()>& is_busy) -> State {
  const typename Shared::Stopwatch watch;
  for (Seconds end = timeout;;) {
    const std::uint64_t value = verdict().value.load(std::memory_order_acquire);
    if (of_offers::number_of(value) != number_) return aborted;
    if (value != of_offers::value_of(number_, open)) return static_cast<State>(value & 3);
    if (have_all_offered()) (void)settle(committed);
    else if (watch.elapsed() <= end) Shared::let_others_run();
    else if (is_busy && watch.elapsed() <= of_offers::kMostWhileBusy && is_busy())
      end = watch.elapsed() + timeout;
    else waited_in_vain_ = settle(aborted);
  }
}

template <class Shared>
auto AgreementRingOn<Shared>::vote(const std::optional<Words>& mine, Seconds timeout,
                                   const std::function<bool()>& is_busy)
    -> std::optional<std::vector<Words>> {
  ++number_, waited_in_vain_ = false;
  std::optional<std::vector<Words>> all;
  // Before that the slot is left alone: a rank may still have to read the verdict in it.
  const bool is_free = number_ <= kSlots || has_all_passed(number_ - kSlots);
  if (is_free && enter()) {
    if (mine) publish(*mine);
    else (void)settle(aborted);
    if (mine && wait(timeout, is_busy) == committed) {
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

}  // namespace polypath::communicator
