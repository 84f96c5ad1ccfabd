#include "collective/rank/own_allocations.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace polypath::collective {
namespace {

constexpr Bytes kNoEnd{std::uint64_t{1} << kOffsetBits};  // sizes are smaller

Bytes size_of(const std::vector<MemoryPart>& parts) {
  Bytes size;
  for (const MemoryPart& part : parts) size += part.size;
  return size;
}

}  // namespace

// The one that begins last, of those that contain all of it.
OwnAllocations::Allocations::iterator OwnAllocations::find(Address address, Bytes bytes) {
  auto own = own_.upper_bound({address, kNoEnd});
  while (own != own_.begin()) {
    const auto& [base, size] = (--own)->first;
    if (address + bytes <= base + size) return own;
  }
  return own_.end();
}

void OwnAllocations::forget(Allocations::iterator own) {
  const Own& forgotten = own->second;
  if (forgotten.notice && forgotten.parts.size() > 1) retired_.push_back(*forgotten.notice);
  else if (forgotten.notice) take_back(*forgotten.notice);
  own_.erase(own);
}

void OwnAllocations::take_back(int notice) {
  handles_.take_back(notice);
  taken_back_.push_back(notice);
}

void OwnAllocations::take_back_retired() {
  for (const int notice : std::exchange(retired_, {})) take_back(notice);
}

// Whether those of its parts that lie in a range are what they were.
bool OwnAllocations::is_current(const Own& own, Address address, Bytes bytes) {
  return std::ranges::all_of(own.parts, [&](const MemoryPart& part) {
    const bool is_apart = part.base + part.size <= address || address + bytes <= part.base;
    return is_apart || driver_.memory_id(part.base) == part.id;
  });
}

// Memory that cannot be shared is as large as was asked for. That of which the end is not known
// cannot.
OwnAllocations::Own OwnAllocations::describe(Address address, Bytes bytes) {
  const auto memory = driver_.find_memory(address);
  const bool is_own = memory && memory->kind == MemoryKind::device && memory->place == gpu_;
  if (is_own) {
    Own own{.parts = driver_.shareable_parts(address, bytes)};
    if (!own.parts.empty() && own.parts.front().id != 0 && size_of(own.parts) < kNoEnd) return own;
  }
  return {.parts = {{address, bytes, driver_.memory_id(address)}}, .is_private = true};
}

// The allocation at an address as it is now; none if there are too many. The driver is not asked
// again about memory that cannot be shared, for some uses.
OwnAllocations::Allocations::iterator OwnAllocations::look_up(Address address, Bytes bytes) {
  const auto known = find(address, bytes);
  if (known != own_.end() && known->second.is_private && ++known->second.uses % kUsesPrivate != 0)
    return known;
  if (known != own_.end() && is_current(known->second, address, bytes)) return known;
  if (known != own_.end()) forget(known);
  return add(describe(address, bytes));
}

// The very parts of a range. A graph runs again after everything else is over, so what it uses must
// not be taken back with a part that it does not use.
OwnAllocations::Allocations::iterator OwnAllocations::look_up_alone(Address address, Bytes bytes) {
  Own now = describe(address, bytes);
  const auto known = own_.find({now.parts.front().base, size_of(now.parts)});
  if (known == own_.end()) return add(std::move(now));
  if (known->second.parts == now.parts) return known;
  forget(known);
  return add(std::move(now));
}

// Freed allocations may have been there.
OwnAllocations::Allocations::iterator OwnAllocations::add(Own own) {
  if (own_.size() >= kMost)
    std::erase_if(own_, [](const auto& each) { return !each.second.notice; });
  if (own_.size() >= kMost) return own_.end();
  const Address base = own.parts.front().base;
  const Bytes size = size_of(own.parts);
  for (auto old = own_.begin(); old != own_.end() && old->first.first < base + size;) {
    const auto next = std::next(old);
    const bool is_apart = old->first.first + old->first.second <= base;
    if (!is_apart && !is_current(old->second, base, size)) forget(old);
    old = next;
  }
  return own_.insert_or_assign({base, size}, std::move(own)).first;
}

void OwnAllocations::open(Own& own) {
  try {
    const ExportedMemory exported = driver_.export_range(own.parts);
    own.notice =
        handles_.publish(Blob(reinterpret_cast<const char*>(exported.data()), exported.size()));
  } catch (const Error&) {
    own.notice.reset();
  }
  own.is_private = !own.notice;
}

std::optional<std::uint64_t> OwnAllocations::encode(Address address, Bytes bytes, bool at_once,
                                                    bool& waits) {
  if (address.value == 0) return 0;
  const auto found = at_once ? look_up_alone(address, bytes) : look_up(address, bytes);
  if (found == own_.end()) return std::nullopt;
  auto& [place, own] = *found;
  const bool is_worth_it = own.notice || at_once || ++own.uses > kUsesBefore;
  if (own.is_private || !is_worth_it) return std::nullopt;
  if (!own.notice) open(own);
  if (!own.notice || !handles_.is_acked_by_all(*own.notice)) {
    own.is_private = own.is_private || (own.notice && handles_.is_refused(*own.notice));
    waits = waits || !own.is_private;
    return std::nullopt;
  }
  return word_of(*own.notice, Bytes{address.value - place.first.value});
}

// One part at each call: the other ranks release freed memory. Of memory that they do not know
// there is nothing to take back.
void OwnAllocations::look_at_one() {
  auto next = own_.upper_bound(looked_at_);
  if (next == own_.end()) next = own_.begin();
  if (next == own_.end()) return;
  looked_at_ = next->first;
  Own& own = next->second;
  const MemoryPart& part = own.parts[own.looked_at++ % own.parts.size()];
  if (own.notice && driver_.memory_id(part.base) != part.id) forget(next);
}

void OwnAllocations::close() {
  while (!own_.empty()) forget(own_.begin());
  take_back_retired();
}

void OwnAllocations::forget_freed() {
  for (auto own = own_.begin(); own != own_.end();) {
    const auto next = std::next(own);
    const auto& [base, size] = own->first;
    if (own->second.notice && !is_current(own->second, base, size)) forget(own);
    own = next;
  }
}

bool OwnAllocations::any_open() const {
  return std::ranges::any_of(own_, [](const auto& each) { return each.second.notice.has_value(); });
}

bool OwnAllocations::are_released() {
  std::erase_if(taken_back_, [&](int notice) { return handles_.is_answered(notice); });
  return taken_back_.empty() && retired_.empty();
}

}  // namespace polypath::collective
