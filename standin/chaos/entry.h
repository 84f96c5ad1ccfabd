#pragma once
// An entry of a stream's queue: a piece of work, a record of an event, a wait.

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "standin/chaos/job.h"

namespace polypath::standin::chaos {

struct Channel;
struct Entry;
using EntryPointer = std::shared_ptr<Entry>;

/// Two GPUs of which one sends the other bytes; the smaller one first.
using Pair = std::pair<PlaceId, PlaceId>;

struct Entry {
  std::unique_ptr<Job> job;          ///< none: the entry stands for what is before it only
  bool is_work = false;              ///< it had a job when it was enqueued
  std::vector<EntryPointer> after;   ///< entries of other queues that come before
  std::optional<Pair> through_host;  ///< the GPUs that a copy goes between in that way
  std::shared_ptr<Channel> channel;  ///< the one that it is in
  int slots = 0;                     ///< of its channel that it takes
  bool is_copy = false;              ///< as opposed to a graph of them
  bool is_record = false;
  bool is_wait_elsewhere = false;  ///< for a record in another context
  bool is_hold = false;  ///< it ends when the program lets it: a function, or a wait for a value
  bool is_function = false;
  bool held = false;  ///< it was enqueued behind a hold, in its stream or by what it waits for

  // Read by all threads.
  std::atomic<bool> source_read = false;
  std::atomic<bool> finished = false;

  Clock::time_point finished_at;  ///< valid once finished

  // The scheduler's own.
  bool drawn = false;            ///< its delay has been drawn
  bool elsewhere = false;        ///< another thread is at it
  Clock::time_point not_before;  ///< when it may go on
};

/// Also of an entry that there never was.
inline bool has_finished(const EntryPointer& entry) { return !entry || entry->finished.load(); }

}  // namespace polypath::standin::chaos
