#include "collective/rank/shared_allocations.h"

#include "core/error.h"
#include "core/ignore_errors.h"

namespace polypath::collective {
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

SharedAllocations::~SharedAllocations() {
  for (const auto& each : imported_) ignore_errors([&] { driver_.release_import(each.second); });
}

// --- this rank's own ---

SharedAllocations::Allocations::iterator SharedAllocations::find_own(Address address) {
  const auto after = own_.upper_bound(address);
  if (after == own_.begin()) return own_.end();
  const auto own = std::prev(after);
  return address < own->first + own->second.size ? own : own_.end();
}

void SharedAllocations::forget(Allocations::iterator own) {
  if (own->second.notice) handles_.take_back(*own->second.notice);
  own_.erase(own);
}

// The allocation at an address as it is now; none if there are too many. The driver is not asked
// again about memory that cannot be shared, for some uses.
SharedAllocations::Allocations::iterator SharedAllocations::look_up(Address address) {
  const auto known = find_own(address);
  if (known != own_.end() && known->second.is_private && ++known->second.uses % kUsesPrivate != 0)
    return known;
  const std::uint64_t id = driver_.memory_id(address);
  if (known != own_.end() && known->second.id == id) return known;
  if (known != own_.end()) forget(known);
  const auto memory = id == 0 ? std::nullopt : driver_.find_memory(address);
  const bool is_own = memory && memory->kind == MemoryKind::device && memory->place == gpu_ &&
                      memory->size.value >> kOffsetBits == 0;  // else its end is not known
  return is_own ? add(memory->base, {.id = id, .size = memory->size})
                : add(address, {.id = id, .size = Bytes{1}, .is_private = true});
}

// Freed allocations may have been there.
SharedAllocations::Allocations::iterator SharedAllocations::add(Address base, const Own& own) {
  if (own_.size() >= kMostOwn)
    std::erase_if(own_, [](const auto& each) { return !each.second.notice; });
  if (own_.size() >= kMostOwn) return own_.end();
  const Address end = base + own.size;
  for (auto old = own_.lower_bound(base); old != own_.end() && old->first < end;) forget(old++);
  return own_.emplace(base, own).first;
}

void SharedAllocations::open(Address base, Own& own) {
  try {
    const ExportedMemory exported = driver_.export_memory(base);
    own.notice =
        handles_.publish(Blob(reinterpret_cast<const char*>(exported.data()), exported.size()));
  } catch (const Error&) {
    own.notice.reset();
  }
  own.is_private = !own.notice;
}

std::optional<std::uint64_t> SharedAllocations::encode(Address address, bool at_once, bool& waits) {
  if (address.value == 0) return 0;
  const auto found = look_up(address);
  if (found == own_.end()) return std::nullopt;
  auto& [base, own] = *found;
  const bool is_worth_it = own.notice || at_once || ++own.uses > kUsesBefore;
  if (own.is_private || !is_worth_it) return std::nullopt;
  if (!own.notice) open(base, own);
  if (!own.notice || !handles_.is_acked_by_all(*own.notice)) {
    own.is_private = own.is_private || (own.notice && handles_.is_refused(*own.notice));
    waits = waits || !own.is_private;
    return std::nullopt;
  }
  return word(*own.notice, Bytes{address.value - base.value});
}

// One at each call: the other ranks release freed memory. Of memory that they do not know there is
// nothing to take back.
void SharedAllocations::look_at_one() {
  auto next = own_.upper_bound(looked_at_);
  if (next == own_.end()) next = own_.begin();
  if (next == own_.end()) return;
  looked_at_ = next->first;
  if (next->second.notice && driver_.memory_id(next->first) != next->second.id) forget(next);
}

void SharedAllocations::close() {
  while (!own_.empty()) forget(own_.begin());
}

// --- the others' ---

void SharedAllocations::take(const HandleBoard::Update& news) {
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
void SharedAllocations::take_in(bool captured) {
  for (HandleBoard::Update& news : handles_.poll()) {
    if (news.bytes.empty()) gone_.push_back(std::move(news));
    else take(news);
  }
  if (!captured && !gone_.empty() && (!last_use_ || last_use_())) release_gone();
}

void SharedAllocations::release_gone() {
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

std::optional<Address> SharedAllocations::find(int rank, std::uint64_t word) const {
  const auto found = imported_.find({rank, notice_of(word)});
  if (found == imported_.end()) return std::nullopt;
  return found->second + offset_of(word);
}

}  // namespace polypath::collective
