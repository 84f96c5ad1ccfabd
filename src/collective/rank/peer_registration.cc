#include "collective/rank/peer_registration.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/error.h"

namespace polypath::collective {

PeerRegistration::PeerRegistration(Driver& driver, PlaceId gpu, int local, HandleBoard notices,
                                   AgreementRing offers)
    : local_(local), allocations_(driver, gpu, std::move(notices)), agreements_(offers) {}

// All addresses are looked at, so that memory that is not registered yet will be.
PeerRegistration::Wanted PeerRegistration::words_of(const Memories& own, bool at_once) {
  Wanted wanted{.words = AgreementRing::Words{}};
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto each = allocations_.encode(own[i].address, own[i].bytes, at_once, wanted.waits);
    if (each && wanted.words) (*wanted.words)[i] = *each;
    else wanted.words.reset();
  }
  return wanted;
}

// Each rank publishes its own memory before it acknowledges other ranks' memory. So a rank whose
// memory all ranks have acknowledged knows that all others have published theirs, and imports it
// before it goes on.
PeerRegistration::Wanted PeerRegistration::register_and_wait(const Memories& own, Seconds timeout) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    const Wanted wanted = words_of(own, true);
    allocations_.take_in(true);
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    if (!wanted.waits || waited.count() > timeout.value) return wanted;
    std::this_thread::yield();
  }
}

std::optional<PeerRegistration::Addresses> PeerRegistration::addresses_of(
    int rank, const AgreementRing::Words& words, const Memories& own) {
  Addresses addresses{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (rank == local_) addresses[i] = own[i].address;
    if (rank == local_ || words[i] == 0) continue;
    const auto found = allocations_.find(rank, words[i]);
    if (!found) return std::nullopt;
    addresses[i] = *found;
  }
  return addresses;
}

// Each time for twice as many.
void PeerRegistration::Backoff::begin() {
  calls = next;
  next = std::min(2 * next, kMostBackoff);
}

std::optional<std::vector<PeerRegistration::Addresses>> PeerRegistration::lookup_all(
    const Memories& own, Seconds timeout, bool captured, const std::function<bool()>& is_busy) {
  Backoff& alone = captured ? captured_ : eager_;
  const bool offers = alone.calls == 0, waits = captured && offers;
  if (!waits) allocations_.take_in(captured);
  allocations_.look_at_one();
  const Wanted wanted = waits ? register_and_wait(own, timeout) : words_of(own, captured);
  if (!offers) --alone.calls;
  const auto all = agreements_.vote(offers ? wanted.words : std::nullopt, timeout, is_busy);
  if (!all) {
    if (agreements_.waited_in_vain() || (waits && wanted.waits)) alone.begin();
    return std::nullopt;
  }
  alone.next = 1;
  std::vector<Addresses> addresses;
  for (int rank = 0; rank < static_cast<int>(all->size()); ++rank) {
    const auto each = addresses_of(rank, (*all)[static_cast<std::size_t>(rank)], own);
    if (!each)
      fail(ErrorCode::internal, "memory of another rank is not open", "it was offered as that");
    addresses.push_back(*each);
  }
  return addresses;
}

}  // namespace polypath::collective
