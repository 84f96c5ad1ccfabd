#include "collective/rank/shared_allocations.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <utility>

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
// No call for so long: the rank does something else.
constexpr std::chrono::seconds kIdleFor(1);

constexpr Bytes kNoEnd{std::uint64_t{1} << kOffsetBits};  // sizes are smaller

Bytes size_of(const std::vector<MemoryPart>& parts) {
  Bytes size;
  for (const MemoryPart& part : parts) size += part.size;
  return size;
}

/// All of them, for memory that the process gives back.
struct OfProcess {
  std::mutex mutex;
  std::set<SharedAllocations*> members;
};
OfProcess& of_process() {
  static auto& all = *new OfProcess;
  return all;
}

constexpr int notice_of(std::uint64_t word) { return static_cast<int>(word >> kOffsetBits) - 1; }
constexpr Bytes offset_of(std::uint64_t word) {
  return {word & ((std::uint64_t{1} << kOffsetBits) - 1)};
}

}  // namespace

// What the thread looks at. It may outlive the allocations.
class SharedAllocations::Looker final : public Watched {
 public:
  explicit Looker(SharedAllocations& allocations) : allocations_(&allocations) {}

  bool look() noexcept override {
    const std::scoped_lock lock(mutex_);
    is_needed_ = allocations_ != nullptr;
    (void)ignore_errors([&] { is_needed_ = is_needed_ && allocations_->look_while_idle(); });
    return false;
  }
  bool needs_looks() noexcept override { return is_needed_; }
  void end() {
    const std::scoped_lock lock(mutex_);
    allocations_ = nullptr;
  }

 private:
  std::mutex mutex_;
  SharedAllocations* allocations_;
  bool is_needed_ = true;
};

SharedAllocations::SharedAllocations(Driver& driver, PlaceId gpu, HandleBoard handles)
    : driver_(driver), gpu_(gpu), handles_(std::move(handles)) {
  OfProcess& all = of_process();
  const std::scoped_lock lock(all.mutex);
  all.members.insert(this);
}

SharedAllocations::~SharedAllocations() {
  if (looker_) looker_->end();
  {
    OfProcess& all = of_process();
    const std::scoped_lock lock(all.mutex);
    all.members.erase(this);
  }
  for (const auto& [source, import] : imported_)
    ignore_errors([&] { driver_.release_import(import.address); });
}

// From now on something is open.
void SharedAllocations::watch() {
  if (!looker_) {
    looker_ = std::make_shared<Looker>(*this);
    watcher_ = Watcher::of_process();
    watcher_->add(looker_);
  }
  watcher_->wake();
}

// Of a rank that is in the middle of a call, or has made one lately, nothing is looked at: it does
// that itself, and to close memory may hold up what it enqueues meanwhile. False if nothing is
// open.
bool SharedAllocations::look_while_idle() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || !found_.empty()) return true;
  if (std::chrono::steady_clock::now() - last_call_ < kIdleFor) return true;
  forget_freed();
  hear_news();
  release_gone();
  const auto is_open = [](const auto& each) { return each.second.notice.has_value(); };
  return !imported_.empty() || std::ranges::any_of(own_, is_open);
}

// --- this rank's own ---

// The one that begins last, of those that contain all of it.
SharedAllocations::Allocations::iterator SharedAllocations::find_own(Address address, Bytes bytes) {
  auto own = own_.upper_bound({address, kNoEnd});
  while (own != own_.begin()) {
    const auto& [base, size] = (--own)->first;
    if (address + bytes <= base + size) return own;
  }
  return own_.end();
}

void SharedAllocations::forget(Allocations::iterator own) {
  if (own->second.notice) {
    handles_.take_back(*own->second.notice);
    taken_back_.push_back(*own->second.notice);
  }
  own_.erase(own);
}

// Whether those of its parts that lie in a range are what they were.
bool SharedAllocations::is_current(const Own& own, Address address, Bytes bytes) {
  return std::ranges::all_of(own.parts, [&](const MemoryPart& part) {
    const bool is_apart = part.base + part.size <= address || address + bytes <= part.base;
    return is_apart || driver_.memory_id(part.base) == part.id;
  });
}

// Memory that cannot be shared is as large as was asked for. That of which the end is not known
// cannot.
SharedAllocations::Own SharedAllocations::describe(Address address, Bytes bytes) {
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
SharedAllocations::Allocations::iterator SharedAllocations::look_up(Address address, Bytes bytes) {
  const auto known = find_own(address, bytes);
  if (known != own_.end() && known->second.is_private && ++known->second.uses % kUsesPrivate != 0)
    return known;
  if (known != own_.end() && is_current(known->second, address, bytes)) return known;
  if (known != own_.end()) forget(known);
  return add(describe(address, bytes));
}

// Freed allocations may have been there.
SharedAllocations::Allocations::iterator SharedAllocations::add(Own own) {
  if (own_.size() >= kMostOwn)
    std::erase_if(own_, [](const auto& each) { return !each.second.notice; });
  if (own_.size() >= kMostOwn) return own_.end();
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

void SharedAllocations::open(Own& own) {
  try {
    const ExportedMemory exported = driver_.export_range(own.parts);
    own.notice =
        handles_.publish(Blob(reinterpret_cast<const char*>(exported.data()), exported.size()));
  } catch (const Error&) {
    own.notice.reset();
  }
  own.is_private = !own.notice;
  if (own.notice) watch();
}

std::optional<std::uint64_t> SharedAllocations::encode(Address address, Bytes bytes, bool at_once,
                                                       bool& waits) {
  if (address.value == 0) return 0;
  const std::scoped_lock lock(mutex_);
  last_call_ = std::chrono::steady_clock::now();
  const auto found = look_up(address, bytes);
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
  return word(*own.notice, Bytes{address.value - place.first.value});
}

// One part at each call: the other ranks release freed memory. Of memory that they do not know
// there is nothing to take back.
void SharedAllocations::look_at_one() {
  const std::scoped_lock lock(mutex_);
  auto next = own_.upper_bound(looked_at_);
  if (next == own_.end()) next = own_.begin();
  if (next == own_.end()) return;
  looked_at_ = next->first;
  Own& own = next->second;
  const MemoryPart& part = own.parts[own.looked_at++ % own.parts.size()];
  if (own.notice && driver_.memory_id(part.base) != part.id) forget(next);
}

void SharedAllocations::close() {
  const std::scoped_lock lock(mutex_);
  while (!own_.empty()) forget(own_.begin());
}

void SharedAllocations::forget_freed() {
  for (auto own = own_.begin(); own != own_.end();) {
    const auto next = std::next(own);
    const auto& [base, size] = own->first;
    if (own->second.notice && !is_current(own->second, base, size)) forget(own);
    own = next;
  }
}

bool SharedAllocations::take_back_freed_own() {
  const std::scoped_lock lock(mutex_);
  forget_freed();
  std::erase_if(taken_back_, [&](int notice) { return handles_.is_answered(notice); });
  return !taken_back_.empty();
}

bool SharedAllocations::take_back_freed() {
  OfProcess& all = of_process();
  const std::scoped_lock lock(all.mutex);
  bool any = false;
  for (SharedAllocations* const each : all.members) any |= each->take_back_freed_own();
  return any;
}

// --- the others' ---

void SharedAllocations::take(const HandleBoard::Update& news) {
  const ExportedMemory exported(
      reinterpret_cast<const std::byte*>(news.bytes.data()),
      reinterpret_cast<const std::byte*>(news.bytes.data()) + news.bytes.size());
  const Source source{news.from, news.number};
  const bool is_taken = ignore_errors([&] {
    const Address address = driver_.import_memory(exported, gpu_);
    imported_[source] = {.address = address, .may_wait = driver_.release_may_wait(address)};
    watch();
  });
  if (!is_taken) imported_.erase(source);
  handles_.acknowledge(news, is_taken);
}

// Memory that was taken back before it was imported never is.
void SharedAllocations::hear_news() {
  for (HandleBoard::Update& news : handles_.poll()) {
    std::erase_if(news_, [&](const HandleBoard::Update& before) {
      return before.from == news.from && before.number == news.number;
    });
    (news.bytes.empty() ? gone_ : news_).push_back(std::move(news));
  }
}

// Nothing is given back while something is captured.
void SharedAllocations::take_in(bool captured) {
  const std::scoped_lock lock(mutex_);
  last_call_ = std::chrono::steady_clock::now();
  hear_news();
  for (const HandleBoard::Update& news : std::exchange(news_, {})) take(news);
  if (!captured) release_gone();
}

void SharedAllocations::release_gone() {
  std::erase_if(gone_, [&](const HandleBoard::Update& news) {
    const bool may = may_release(news);
    if (may) release(news);
    return may;
  });
}

bool SharedAllocations::may_release(const HandleBoard::Update& news) const {
  const auto found = imported_.find({news.from, news.number});
  if (found == imported_.end()) return true;
  const Import& import = found->second;
  const auto& is_unused = import.may_wait || !import.is_unused ? is_idle_ : import.is_unused;
  return !is_unused || is_unused();
}

void SharedAllocations::release(const HandleBoard::Update& news) {
  const auto found = imported_.find({news.from, news.number});
  if (found != imported_.end()) {
    ignore_errors([&] { driver_.release_import(found->second.address); });
    imported_.erase(found);
  }
  handles_.acknowledge(news, true);
}

std::optional<Address> SharedAllocations::find(int rank, std::uint64_t word) {
  const Source source{rank, notice_of(word)};
  const std::scoped_lock lock(mutex_);
  const auto found = imported_.find(source);
  if (found == imported_.end()) return std::nullopt;
  found_.push_back(source);
  return found->second.address + offset_of(word);
}

void SharedAllocations::note_use(std::function<bool()> is_idle,
                                 const std::function<bool()>& is_done) {
  const std::scoped_lock lock(mutex_);
  is_idle_ = std::move(is_idle);
  for (const Source& source : std::exchange(found_, {}))
    if (const auto found = imported_.find(source); found != imported_.end())
      found->second.is_unused = is_done;
}

}  // namespace polypath::collective
