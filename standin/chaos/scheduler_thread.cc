// The scheduler's thread: picks a head, makes a step of it, and ends entries that are done.

#include "standin/chaos/scheduler.h"

namespace polypath::standin::chaos {
namespace {

constexpr auto kPause = std::chrono::microseconds(20);  // between two looks at a value

}  // namespace

void Scheduler::run() {
  leave_signals_to_others();
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    const Picker::Pick picked = picker_.pick(queues_);
    if (picked.queue) step(picked.queue, lock);
    else work_.wait_until(lock, picked.next);
  }
}

void Scheduler::step(const QueuePointer& queue, std::unique_lock<std::mutex>& lock) {
  const EntryPointer entry = queue->entries.front();
  // The thread that receives the entry may have done it before this thread has its lock again.
  entry->elsewhere = entry->is_function;
  lock.unlock();  // the job is this thread's alone
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
