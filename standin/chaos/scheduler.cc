#include "standin/chaos/scheduler.h"

#include <algorithm>

#include "standin/failure.h"

namespace polypath::standin::chaos {
namespace {

bool is_held(const EntryPointer& entry) {
  return !has_finished(entry) && (entry->is_hold || entry->held);
}

bool share_a_pair(const Entry& one, const Entry& other) {
  return one.through_host && one.through_host == other.through_host;
}

// Hands a function over to the thread for functions.
class FunctionJob final : public Job {
 public:
  FunctionJob(HostThread& thread, std::function<void()> task)
      : thread_(thread), task_(std::move(task)) {}
  JobState step(Chance&) override {
    thread_.start(std::move(task_));
    return JobState::elsewhere;
  }

 private:
  HostThread& thread_;
  std::function<void()> task_;
};

}  // namespace

Scheduler::Scheduler(std::uint64_t seed, ChannelLimits limits)
    : picker_(seed), steps_(~seed), channels_(limits), thread_([this] { run(); }) {}

QueuePointer Scheduler::create_queue(PlaceId gpu, ContextPointer context, bool alone) {
  const std::scoped_lock lock(mutex_);
  auto queue = std::make_shared<Queue>();
  queue->gpu = gpu;
  queue->context = context;
  queue->priority = picker_.draw_priority();
  queue->channel = alone ? std::make_shared<Channel>() : channels_.next(context);
  queues_.push_back(queue);
  return queue;
}

void Scheduler::close(const QueuePointer& queue) {
  const std::scoped_lock lock(mutex_);
  queue->closed = true;
  if (queue->entries.empty()) queues_.remove(queue);
}

void Scheduler::join(Queue& later, const Queue& earlier) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(later.joined, has_finished);
  if (earlier.last && !has_finished(earlier.last)) later.joined.push_back(earlier.last);
  later.joined.insert(later.joined.end(), earlier.joined.begin(), earlier.joined.end());
}

void Scheduler::enqueue_function(const QueuePointer& queue, std::function<void()> function) {
  auto entry = std::make_shared<Entry>();
  entry->is_hold = entry->is_function = true;
  auto task = [this, queue, entry = entry.get(), function = std::move(function)] {
    function();
    const std::scoped_lock lock(mutex_);
    finish(queue, *entry);
  };
  entry->job = std::make_unique<FunctionJob>(functions_, std::move(task));
  enqueue(*queue, entry);
}

void Scheduler::enqueue(Queue& queue, const EntryPointer& entry) {
  const std::scoped_lock lock(mutex_);
  entry->after.insert(entry->after.end(), queue.joined.begin(), queue.joined.end());
  queue.joined.clear();
  hold_up(queue, *entry);
  entry->held = std::any_of(entry->after.begin(), entry->after.end(), is_held) ||
                (queue.last && is_held(queue.last));
  entry->is_work = entry->job != nullptr;
  entry->channel = queue.channel;
  entry->channel->used += entry->slots;
  if (entry->is_wait_elsewhere) take_room_of_records(*entry);
  queue.entries.push_back(entry);
  queue.last = entry;
  work_.notify_one();
}

// As seen on four H100s, driver 580: chunks that two GPUs await from each other fill a queue after
// 345, which is three entries each: a copy, a wait, and therefore a record. Records that no other
// context awaits take no room.
void Scheduler::take_room_of_records(const Entry& wait) {
  for (const EntryPointer& awaited : wait.after) {
    if (!awaited->is_record || awaited->finished || awaited->slots > 0) continue;
    awaited->slots = 1;
    ++awaited->channel->used;
  }
}

// As seen on H200, driver 580, a copy that is held holds up copies that others make later: of
// streams in the same channel, and of the same GPU if both go between the same GPUs through the
// host.
void Scheduler::hold_up(const Queue& own, Entry& entry) {
  if (!entry.is_copy) return;
  for (const QueuePointer& queue : queues_) {
    if (queue.get() == &own) continue;
    const bool shares = queue->channel == own.channel;
    for (const EntryPointer& other : queue->entries) {
      const bool meets = shares || (queue->gpu == own.gpu && share_a_pair(entry, *other));
      if (other->is_copy && other->held && meets) entry.after.push_back(other);
    }
  }
}

bool Scheduler::has_room(const Queue& queue, int slots) {
  const std::scoped_lock lock(mutex_);
  return channels_.fits(queue, slots);
}

EntryPointer Scheduler::last(const Queue& queue) {
  const std::scoped_lock lock(mutex_);
  return queue.last;
}

std::vector<EntryPointer> Scheduler::unfinished(
    const std::function<bool(const Queue&, const Entry&)>& condition) {
  const std::scoped_lock lock(mutex_);
  std::vector<EntryPointer> found;
  for (const QueuePointer& queue : queues_)
    for (const EntryPointer& entry : queue->entries)
      if (condition(*queue, *entry)) found.push_back(entry);
  return found;
}

template <class Condition>
void Scheduler::wait_until(Condition condition) {
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&] { return stopped_ || condition(); });
  if (!condition()) refuse(kDeinitialized, "the program ends");
}

void Scheduler::wait_for_room(const QueuePointer& queue, int slots) {
  wait_until([&] { return channels_.fits(*queue, slots); });
}

void Scheduler::wait_for(const std::vector<EntryPointer>& entries) {
  wait_until([&] { return std::all_of(entries.begin(), entries.end(), has_finished); });
}

void Scheduler::wait_for_source(const EntryPointer& entry) {
  wait_until([&] { return entry->source_read.load(); });
}

void Scheduler::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    work_.notify_all();
    finished_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace polypath::standin::chaos
