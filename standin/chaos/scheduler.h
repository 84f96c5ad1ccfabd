#pragma once
// Runs the heads of queues in real time and in any order that the queues and the entries' `after`
// allow. One thread picks a head that can go on (picker.h), makes one step of it and picks again.
// Functions of the program run on a second thread.

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "standin/abi.h"
#include "standin/chaos/channels.h"
#include "standin/chaos/host_thread.h"
#include "standin/chaos/picker.h"
#include "standin/chaos/queue.h"

namespace polypath::standin::chaos {

class Scheduler {
 public:
  Scheduler(std::uint64_t seed, ChannelLimits limits);
  ~Scheduler() { stop(); }
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// With the context's next channel, or `alone` with one of its own.
  QueuePointer create_queue(PlaceId gpu, ContextPointer context, bool alone);
  /// The work in the queue runs to its end.
  void close(const QueuePointer& queue);
  /// Puts an entry behind those of the queue and after those joined to it.
  void enqueue(Queue& queue, const EntryPointer& entry);
  /// Puts a function of the program behind them.
  void enqueue_function(const QueuePointer& queue, std::function<void()> function);
  /// The next entry of `later` comes after all that is in `earlier` now, and after what is joined
  /// to it.
  void join(Queue& later, const Queue& earlier);

  /// False while the queue's channel has less room than that.
  bool has_room(const Queue& queue, int slots);
  void wait_for_room(const QueuePointer& queue, int slots);
  /// The newest entry, finished or not; null if there was none.
  EntryPointer last(const Queue& queue);
  /// Unfinished entries that the condition holds for.
  std::vector<EntryPointer> unfinished(
      const std::function<bool(const Queue&, const Entry&)>& condition);
  /// Block; they refuse (deinitialized) when the driver stops before that.
  void wait_for(const std::vector<EntryPointer>& entries);
  void wait_for_source(const EntryPointer& entry);

  /// Starts nothing any more, and ends when the step under way has ended.
  void stop();

 private:
  void run();
  static void take_room_of_records(const Entry& wait);
  void hold_up(const Queue& own, Entry& entry);
  void step(const QueuePointer& queue, std::unique_lock<std::mutex>& lock);
  void finish(const QueuePointer& queue, Entry& entry);
  template <class Condition>
  void wait_until(Condition condition);

  std::mutex mutex_;
  std::condition_variable work_;      ///< there may be something to do
  std::condition_variable finished_;  ///< something has finished
  Picker picker_;                     ///< asked under the lock
  Chance steps_;                      ///< for the steps of jobs
  Channels channels_;
  std::list<QueuePointer> queues_;
  bool stopped_ = false;
  HostThread functions_;
  std::thread thread_;
};

}  // namespace polypath::standin::chaos
