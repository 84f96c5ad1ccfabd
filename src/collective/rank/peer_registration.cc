#include "collective/rank/peer_registration.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/error.h"
#include "core/ignore_errors.h"

namespace polypath {
namespace {

// A word is 0 without memory, else the number on the handle board + 1 and the offset in the
// allocation.
constexpr int kOffsetBits = 56;
constexpr std::uint64_t word(int notice, Bytes offset) {
  return (static_cast<std::uint64_t>(notice) + 1) << kOffsetBits | offset.value;
}
constexpr int notice_of(std::uint64_t word) { return static_cast<int>(word >> kOffsetBits) - 1; }
constexpr Bytes offset_of(std::uint64_t word) {
  return {word & ((std::uint64_t{1} << kOffsetBits) - 1)};
}

}  // namespace

PeerRegistration::PeerRegistration(Driver& driver, PlaceId gpu, int local, HandleBoard notices,
                                   AgreementRing offers)
    : driver_(driver),
      gpu_(gpu),
      local_(local),
      handles_(std::move(notices)),
      agreements_(offers) {}

PeerRegistration::~PeerRegistration() {
  for (const auto& each : imported_) ignore_errors([&] { driver_.release_import(each.second); });
}

// --- this rank's own ---

PeerRegistration::Allocations::iterator PeerRegistration::find(Address address) {
  const auto after = own_.upper_bound(address);
  if (after == own_.begin()) return own_.end();
  const auto own = std::prev(after);
  return address < own->first + own->second.size ? own : own_.end();
}

void PeerRegistration::forget(Allocations::iterator own) {
  if (own->second.notice) handles_.take_back(*own->second.notice);
  own_.erase(own);
}

// The allocation at an address as it is now; none if the others could not use it anyway.
PeerRegistration::Allocations::iterator PeerRegistration::look_up(Address address) {
  const std::uint64_t id = driver_.memory_id(address);
  const auto known = find(address);
  if (known != own_.end() && known->second.id == id) return known;
  if (known != own_.end()) forget(known);
  const auto memory = id == 0 ? std::nullopt : driver_.find_memory(address);
  if (!memory || memory->kind != MemoryKind::device || memory->place != gpu_) return own_.end();
  if (own_.size() >= kMostOwn)
    std::erase_if(own_, [](const auto& each) { return !each.second.notice; });
  if (own_.size() >= kMostOwn) return own_.end();
  // A freed allocation may have begun there as well, and been too short to contain the address.
  if (const auto before = own_.find(memory->base); before != own_.end()) forget(before);
  return own_.emplace(memory->base, Own{.id = id, .size = memory->size}).first;
}

void PeerRegistration::open(Address base, Own& own) {
  try {
    const ExportedMemory exported = driver_.export_memory(base);
    own.notice =
        handles_.publish(Blob(reinterpret_cast<const char*>(exported.data()), exported.size()));
  } catch (const Error&) {
    own.notice.reset();
  }
  own.is_private = !own.notice;
}

std::optional<std::uint64_t> PeerRegistration::encode(Address address, bool at_once, bool& waits) {
  if (address.value == 0) return 0;
  const auto found = look_up(address);
  if (found == own_.end()) return std::nullopt;
  auto& [base, own] = *found;
  if (own.is_private || (++own.uses <= kUsesBefore && !at_once)) return std::nullopt;
  if (!own.notice) open(base, own);
  if (!own.notice || !handles_.is_acked_by_all(*own.notice)) {
    own.is_private = own.is_private || (own.notice && handles_.is_refused(*own.notice));
    waits = waits || !own.is_private;
    return std::nullopt;
  }
  return word(*own.notice, Bytes{address.value - base.value});
}

// All addresses are looked at, so that memory that is not registered yet will be.
PeerRegistration::Wanted PeerRegistration::words_of(const Addresses& own, bool at_once) {
  Wanted wanted{.words = AgreementRing::Words{}};
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto each = encode(own[i], at_once, wanted.waits);
    if (each && wanted.words) (*wanted.words)[i] = *each;
    else wanted.words.reset();
  }
  return wanted;
}

// Each rank publishes its own memory before it acknowledges other ranks' memory. So a rank whose
// memory all ranks have acknowledged knows that all others have published theirs, and imports it
// before it goes on.
PeerRegistration::Wanted PeerRegistration::register_and_wait(const Addresses& own,
                                                             Seconds timeout) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    const Wanted wanted = words_of(own, true);
    take_in(true);
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    if (!wanted.waits || waited.count() > timeout.value) return wanted;
    std::this_thread::yield();
  }
}

// One at each call: the other ranks release freed memory.
void PeerRegistration::look_at_one() {
  auto next = own_.upper_bound(looked_at_);
  if (next == own_.end()) next = own_.begin();
  if (next == own_.end()) return;
  looked_at_ = next->first;
  if (driver_.memory_id(next->first) != next->second.id) forget(next);
}

// --- the others' ---

void PeerRegistration::take(const HandleBoard::Update& news) {
  const ExportedMemory exported(
      reinterpret_cast<const std::byte*>(news.bytes.data()),
      reinterpret_cast<const std::byte*>(news.bytes.data()) + news.bytes.size());
  const bool is_taken = ignore_errors([&] {
    imported_[{news.from, news.number}] = driver_.import_memory(exported, gpu_);
  });
  if (!is_taken) imported_.erase({news.from, news.number});
  handles_.acknowledge(news, is_taken);
}

// Nothing is given back while something is captured.
void PeerRegistration::take_in(bool captured) {
  for (HandleBoard::Update& news : handles_.poll()) {
    if (news.bytes.empty()) gone_.push_back(std::move(news));
    else take(news);
  }
  if (!captured && !gone_.empty() && (!last_use_ || last_use_())) release_gone();
}

void PeerRegistration::release_gone() {
  for (const HandleBoard::Update& news : gone_) {
    const auto found = imported_.find({news.from, news.number});
    if (found != imported_.end()) {
      ignore_errors([&] { driver_.release_import(found->second); });
      imported_.erase(found);
    }
    handles_.acknowledge(news, true);
  }
  gone_.clear();
}

std::optional<PeerRegistration::Addresses> PeerRegistration::addresses_of(
    int rank, const AgreementRing::Words& words, const Addresses& own) const {
  if (rank == local_) return own;
  Addresses addresses{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == 0) continue;
    const auto found = imported_.find({rank, notice_of(words[i])});
    if (found == imported_.end()) return std::nullopt;
    addresses[i] = found->second + offset_of(words[i]);
  }
  return addresses;
}

// Each time for twice as many.
void PeerRegistration::Backoff::begin() {
  calls = next;
  next = std::min(2 * next, kMostBackoff);
}

std::optional<std::vector<PeerRegistration::Addresses>> PeerRegistration::lookup_all(
    const Addresses& own, Seconds timeout, bool captured, const std::function<bool()>& is_busy) {
  Backoff& alone = captured ? captured_ : eager_;
  const bool offers = alone.calls == 0, waits = captured && offers;
  if (!waits) take_in(captured);
  look_at_one();
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

}  // namespace polypath
