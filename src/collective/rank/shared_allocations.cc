#include "collective/rank/shared_allocations.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "core/ignore_errors.h"
#include "core/process.h"

namespace polypath::collective {
namespace {

using Clock = std::chrono::steady_clock;

// No call for so long: the rank does something else.
constexpr std::chrono::seconds kIdleFor(1);

/// All of them, for memory that the process gives back.
struct OfProcess {
  std::mutex mutex;
  std::set<SharedAllocations*> members;
};
OfProcess& of_process() {
  static auto& all = *new OfProcess;
  return all;
}

}  // namespace

// What the thread looks at. It may outlive the allocations.
class SharedAllocations::Looker final : public Watched {
 public:
  explicit Looker(SharedAllocations& allocations) : allocations_(&allocations) {}

  bool look() noexcept override {
    const std::scoped_lock lock(mutex_);
    if (allocations_ != nullptr) (void)ignore_errors([&] { allocations_->look_while_idle(); });
    return false;
  }
  bool needs_looks() noexcept override { return true; }
  void end() {
    const std::scoped_lock lock(mutex_);
    allocations_ = nullptr;
  }

 private:
  std::mutex mutex_;
  SharedAllocations* allocations_;
};

SharedAllocations::SharedAllocations(Driver& driver, PlaceId gpu, HandleBoard handles)
    : handles_(std::move(handles)),
      own_(driver, gpu, handles_),
      others_(driver, gpu, handles_),
      generation_(process_generation()) {
  OfProcess& all = of_process();
  const std::scoped_lock lock(all.mutex);
  all.members.insert(this);
}

SharedAllocations::~SharedAllocations() { abandon(); }

// In a forked child the locks may be held by a thread that is not there.
void SharedAllocations::abandon() {
  if (generation_ != process_generation()) return;
  if (looker_) looker_->end();
  OfProcess& all = of_process();
  const std::scoped_lock lock(all.mutex);
  all.members.erase(this);
}

// From now on something is open.
void SharedAllocations::watch() {
  looker_ = std::make_shared<Looker>(*this);
  watcher_ = Watcher::of_process();
  watcher_->add(looker_);
  watcher_->wake();
}

// Of a rank that is in the middle of a call, or has made one lately, nothing is looked at: it does
// that itself, and to close memory may hold up what it enqueues meanwhile.
void SharedAllocations::look_while_idle() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || others_.in_call() || Clock::now() - last_call_ < kIdleFor) return;
  own_.forget_freed();
  if (others_.is_idle()) own_.take_back_retired();
  others_.hear_news();
  others_.release_gone();
}

// --- this rank's own ---

std::optional<std::uint64_t> SharedAllocations::encode(Address address, Bytes bytes, bool at_once,
                                                       bool& waits) {
  const std::scoped_lock lock(mutex_);
  last_call_ = Clock::now();
  const auto word = own_.encode(address, bytes, at_once, waits);
  if (!looker_ && own_.any_open()) watch();
  return word;
}

void SharedAllocations::look_at_one() {
  const std::scoped_lock lock(mutex_);
  own_.look_at_one();
  if (others_.is_idle()) own_.take_back_retired();
}

void SharedAllocations::close() {
  const std::scoped_lock lock(mutex_);
  own_.close();
}

// Another thread may be in a call, and other ranks have been offered its memory.
bool SharedAllocations::take_back_freed_own() {
  const std::scoped_lock lock(mutex_);
  own_.forget_freed();
  if (Clock::now() - last_call_ >= kIdleFor && others_.is_idle()) own_.take_back_retired();
  return !own_.are_released();
}

bool SharedAllocations::take_back_freed() {
  OfProcess& all = of_process();
  const std::scoped_lock lock(all.mutex);
  bool any = false;
  for (SharedAllocations* const each : all.members) any |= each->take_back_freed_own();
  return any;
}

// --- the others' ---

// Nothing is given back while something is captured.
void SharedAllocations::take_in(bool captured) {
  const std::scoped_lock lock(mutex_);
  last_call_ = Clock::now();
  others_.hear_news();
  others_.import_new();
  if (!captured) others_.release_gone();
  if (!looker_ && !others_.empty()) watch();
}

std::optional<Address> SharedAllocations::find(int rank, std::uint64_t word) {
  const std::scoped_lock lock(mutex_);
  return others_.find(rank, word);
}

void SharedAllocations::note_use(std::function<bool()> is_idle,
                                 const std::function<bool()>& is_done) {
  const std::scoped_lock lock(mutex_);
  others_.note_use(std::move(is_idle), is_done);
}

}  // namespace polypath::collective
