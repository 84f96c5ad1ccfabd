#include "collective/rank/open_memory.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/error.h"
#include "core/quietly.h"

namespace polypath {
namespace {

// A word is 0 without memory, else the notice's number + 1 and where in the allocation it is.
constexpr int kOffsetBits = 56;
constexpr std::uint64_t word(int notice, Bytes offset) {
  return (static_cast<std::uint64_t>(notice) + 1) << kOffsetBits | offset.value;
}
constexpr int notice_of(std::uint64_t word) { return static_cast<int>(word >> kOffsetBits) - 1; }
constexpr Bytes offset_of(std::uint64_t word) {
  return {word & ((std::uint64_t{1} << kOffsetBits) - 1)};
}

}  // namespace

OpenMemory::OpenMemory(Driver& driver, PlaceId gpu, int local, Notices notices, Offers offers)
    : driver_(driver), gpu_(gpu), local_(local), notices_(std::move(notices)), offers_(offers) {}

OpenMemory::~OpenMemory() {
  for (const auto& each : imported_) quietly([&] { driver_.release_import(each.second); });
}

// --- this rank's own ---

OpenMemory::Allocations::iterator OpenMemory::find(Address address) {
  const auto after = own_.upper_bound(address);
  if (after == own_.begin()) return own_.end();
  const auto own = std::prev(after);
  return address < own->first + own->second.size ? own : own_.end();
}

void OpenMemory::forget(Allocations::iterator own) {
  if (own->second.notice) notices_.take_back(*own->second.notice);
  own_.erase(own);
}

// The allocation at an address as it is now; none if the others could not use it anyway.
OpenMemory::Allocations::iterator OpenMemory::look_up(Address address) {
  const std::uint64_t id = driver_.memory_id(address);
  const auto known = find(address);
  if (known != own_.end() && known->second.id == id) return known;
  if (known != own_.end()) forget(known);
  const auto memory = id == 0 ? std::nullopt : driver_.find_memory(address);
  if (!memory || memory->kind != MemoryKind::device || memory->place != gpu_) return own_.end();
  if (own_.size() >= kMostOwn)
    std::erase_if(own_, [](const auto& each) { return !each.second.notice; });
  if (own_.size() >= kMostOwn) return own_.end();
  // One that was freed may have begun there as well, and been too short to contain the address.
  if (const auto before = own_.find(memory->base); before != own_.end()) forget(before);
  return own_.emplace(memory->base, Own{.id = id, .size = memory->size}).first;
}

void OpenMemory::open(Address base, Own& own) {
  try {
    const ExportedMemory exported = driver_.export_memory(base);
    own.notice =
        notices_.say(Blob(reinterpret_cast<const char*>(exported.data()), exported.size()));
  } catch (const Error&) {
    own.notice.reset();
  }
  own.is_private = !own.notice;
}

std::optional<std::uint64_t> OpenMemory::word_of(Address address, bool at_once, bool& waits) {
  if (address.value == 0) return 0;
  const auto found = look_up(address);
  if (found == own_.end()) return std::nullopt;
  auto& [base, own] = *found;
  if (own.is_private || (++own.uses <= kUsesBefore && !at_once)) return std::nullopt;
  if (!own.notice) open(base, own);
  if (!own.notice || !notices_.is_taken_by_all(*own.notice)) {
    own.is_private = own.is_private || (own.notice && notices_.is_refused(*own.notice));
    waits = waits || !own.is_private;
    return std::nullopt;
  }
  return word(*own.notice, Bytes{address.value - base.value});
}

// All of them are looked at, so that those that are not open yet come to be.
OpenMemory::Wanted OpenMemory::words_of(const Addresses& own, bool at_once) {
  Wanted wanted{.words = Offers::Words{}};
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto each = word_of(own[i], at_once, wanted.waits);
    if (each && wanted.words) (*wanted.words)[i] = *each;
    else wanted.words.reset();
  }
  return wanted;
}

// Each rank says what it opens before it takes what others have said. So whose memory all have
// taken knows that all others have said theirs, and takes them before it goes on.
OpenMemory::Wanted OpenMemory::words_once_open(const Addresses& own, Seconds patience) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    const Wanted wanted = words_of(own, true);
    take_in(true);
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    if (!wanted.waits || waited.count() > patience.value) return wanted;
    std::this_thread::yield();
  }
}

// One at each call: what was freed is given back by the others.
void OpenMemory::look_at_one() {
  auto next = own_.upper_bound(looked_at_);
  if (next == own_.end()) next = own_.begin();
  if (next == own_.end()) return;
  looked_at_ = next->first;
  if (driver_.memory_id(next->first) != next->second.id) forget(next);
}

// --- the others' ---

void OpenMemory::take(const Notices::News& news) {
  const ExportedMemory exported(
      reinterpret_cast<const std::byte*>(news.bytes.data()),
      reinterpret_cast<const std::byte*>(news.bytes.data()) + news.bytes.size());
  const bool is_taken = quietly([&] {
    imported_[{news.from, news.number}] = driver_.import_memory(exported, gpu_);
  });
  if (!is_taken) imported_.erase({news.from, news.number});
  notices_.answer(news, is_taken);
}

// Nothing is given back while something is captured.
void OpenMemory::take_in(bool captured) {
  for (Notices::News& news : notices_.news()) {
    if (news.bytes.empty()) gone_.push_back(std::move(news));
    else take(news);
  }
  if (!captured && !gone_.empty() && (!last_use_ || last_use_())) release_gone();
}

void OpenMemory::release_gone() {
  for (const Notices::News& news : gone_) {
    const auto found = imported_.find({news.from, news.number});
    if (found != imported_.end()) {
      quietly([&] { driver_.release_import(found->second); });
      imported_.erase(found);
    }
    notices_.answer(news, true);
  }
  gone_.clear();
}

std::optional<OpenMemory::Addresses> OpenMemory::addresses_of(int rank, const Offers::Words& words,
                                                              const Addresses& own) const {
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
void OpenMemory::Alone::begin() {
  calls = next;
  next = std::min(2 * next, kMostAlone);
}

std::optional<std::vector<OpenMemory::Addresses>> OpenMemory::of_all(
    const Addresses& own, Seconds patience, bool captured, const std::function<bool()>& is_busy) {
  Alone& alone = captured ? captured_ : eager_;
  const bool offers = alone.calls == 0, waits = captured && offers;
  if (!waits) take_in(captured);
  look_at_one();
  const Wanted wanted = waits ? words_once_open(own, patience) : words_of(own, captured);
  if (!offers) --alone.calls;
  const auto all = offers_.decide(offers ? wanted.words : std::nullopt, patience, is_busy);
  if (!all) {
    if (offers_.waited_in_vain() || (waits && wanted.waits)) alone.begin();
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
