#include "communicator/watcher.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/process.h"

namespace polypath::communicator {
namespace {

using Clock = std::chrono::steady_clock;

// Against what it costs: a look is a question per call under way and a system call per rank.
constexpr Seconds kBetweenLooks{0.005};
constexpr Seconds kBetweenSeldomLooks{0.1};
// To begin a thread costs more than to wait with one.
constexpr std::chrono::seconds kRestsAfter{2};

/// A forked child begins with one of its own, and leaves that of its parent alone: the lock may be
/// held there.
struct OfProcess {
  int generation = process_generation();
  std::mutex mutex;
  std::weak_ptr<Watcher> watcher;
};

OfProcess& of_this_process() {
  static std::atomic<OfProcess*> current{nullptr};
  OfProcess* found = current.load(std::memory_order_acquire);
  while (found == nullptr || found->generation != process_generation()) {
    auto made = std::make_unique<OfProcess>();
    if (current.compare_exchange_strong(found, made.get())) return *made.release();
  }
  return *found;
}

}  // namespace

std::shared_ptr<Watcher> Watcher::of_process() {
  OfProcess& process = of_this_process();
  const std::scoped_lock lock(process.mutex);
  std::shared_ptr<Watcher> watcher = process.watcher.lock();
  if (!watcher) process.watcher = watcher = std::make_shared<Watcher>();
  return watcher;
}

void Watcher::add(std::weak_ptr<Watched> watched) {
  const std::scoped_lock lock(mutex_);
  watched_.push_back(std::move(watched));
}

void Watcher::wake() {
  const std::scoped_lock lock(mutex_);
  woken_ = true;
  if (std::exchange(working_, true)) return;
  background_.post([this] { work(); });
}

void Watcher::work() {
  auto rest_at = Clock::now() + kRestsAfter;
  for (;;) {
    const Attention attention = look_at_all();
    if (attention == Attention::often) rest_at = Clock::now() + kRestsAfter;
    const bool is_over = Clock::now() >= rest_at;
    if (is_over && attention == Attention::none && may_rest()) return;
    if (!background_.pause(is_over ? kBetweenSeldomLooks : kBetweenLooks)) return;
  }
}

Watcher::Attention Watcher::look_at_all() {
  std::vector<std::weak_ptr<Watched>> all;
  {
    const std::scoped_lock lock(mutex_);
    std::erase_if(watched_, [](const auto& watched) { return watched.expired(); });
    all = watched_;
  }
  Attention attention = Attention::none;
  for (const auto& weak : all)
    if (const auto watched = weak.lock()) {
      const Attention needed = watched->look()          ? Attention::often
                               : watched->needs_looks() ? Attention::seldom
                                                        : Attention::none;
      attention = std::max(attention, needed);
    }
  return attention;
}

bool Watcher::may_rest() {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(woken_, false)) return false;
  working_ = false;
  return true;
}

}  // namespace polypath::communicator
