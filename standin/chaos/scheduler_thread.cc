// The scheduler's thread: picks a head, makes a step of it, and ends entries that are done.

#include "standin/chaos/scheduler.h"

namespace polypath::standin::chaos {
namespace {

constexpr std::uint64_t kMostPicksPerDraw = 64;
constexpr auto kPause = std::chrono::microseconds(20);  // between two looks at a value
constexpr auto kLongest = std::chrono::hours(1);

}  // namespace

void Scheduler::run() {
  leave_signals_to_others();
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    const Pick picked = pick();
    if (picked.queue) step(picked.queue, lock);
    else work_.wait_until(lock, picked.next);
  }
}

void Scheduler::draw_priorities() {
  if (picks_left_-- != 0) return;
  picks_left_ = choices_.below(kMostPicksPerDraw);
  for (const QueuePointer& queue : queues_) queue->priority = choices_.below(UINT64_MAX);
}

Scheduler::Pick Scheduler::pick() {
  const Clock::time_point now = Clock::now();
  Pick picked{nullptr, now + kLongest};
  for (const QueuePointer& queue : queues_) {
    if (queue->entries.empty()) continue;
    Entry& head = *queue->entries.front();
    if (can_go_on(head, now)) {
      if (!picked.queue || queue->priority > picked.queue->priority) picked.queue = queue;
    } else if (head.drawn && !head.elsewhere) {
      picked.next = std::min(picked.next, head.not_before);
    }
  }
  if (picked.queue) draw_priorities();
  return picked;
}

// The delay is drawn when nothing but time keeps the entry.
bool Scheduler::can_go_on(Entry& head, Clock::time_point now) {
  if (head.elsewhere) return false;
  std::erase_if(head.after, has_finished);
  if (!head.after.empty()) return false;
  if (!head.drawn) head.not_before = now + choices_.delay();
  head.drawn = true;
  return head.not_before <= now;
}

void Scheduler::step(const QueuePointer& queue, std::unique_lock<std::mutex>& lock) {
  const EntryPointer entry = queue->entries.front();
  // The thread that receives the entry may have done it before this thread has its lock again.
  entry->elsewhere = entry->is_function;
  lock.unlock();
  const JobState progress = entry->job ? entry->job->step(steps_) : JobState::done;
  if (progress == JobState::done) entry->job.reset();
  lock.lock();
  switch (progress) {
    case JobState::done: return finish(queue, *entry);
    case JobState::not_yet: entry->not_before = Clock::now() + kPause; return;
    case JobState::source_read:
      entry->source_read = true;
      finished_.notify_all();
      return;
    case JobState::more:
    case JobState::elsewhere: return;
  }
}

void Scheduler::finish(const QueuePointer& queue, Entry& entry) {
  queue->channel->used -= entry.slots;
  entry.finished_at = Clock::now();
  entry.source_read = true;
  entry.finished = true;
  queue->entries.pop_front();
  if (queue->closed && queue->entries.empty()) queues_.remove(queue);
  finished_.notify_all();
  work_.notify_one();
}

}  // namespace polypath::standin::chaos
