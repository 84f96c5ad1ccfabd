#pragma once
// How long a transfer takes on its stream, and each of its paths, by timing events. Reading them
// does not wait: they are read after they have completed, at a later request to the engine.
//
// Events of two GPUs have no common clock. So a path is timed in the queue of its last hop, from
// the moment that queue is told to start, and the delay of its first call after that of the
// transfer is added. The time until the caller's stream knows of such a queue's end shows where the
// path that ends last is one of those; it is taken to be the same for all.

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "driver/driver.h"
#include "model/program.h"

namespace polypath::engine {

/// Timing events that are not in use, by GPU. Thread-safe: a stopwatch goes with the last decision
/// that has it, which may be in the hands of a caller.
class TimingEvents {
 public:
  explicit TimingEvents(Driver& driver) : driver_(driver) {}
  TimingEvents(const TimingEvents&) = delete;
  TimingEvents& operator=(const TimingEvents&) = delete;
  ~TimingEvents();

  [[nodiscard]] EventHandle take(PlaceId gpu);
  void give_back(PlaceId gpu, EventHandle event) noexcept;
  [[nodiscard]] Driver& driver() const { return driver_; }
  /// From the end of a queue until another one's stream knows of it, as last seen. Only for the
  /// thread that reads stopwatches, one at a time.
  Seconds join;

 private:
  Driver& driver_;
  std::mutex mutex_;
  std::map<PlaceId, std::vector<EventHandle>> spare_;
};

/// The measured times of one transfer.
struct Timing {
  Seconds whole;               ///< from its call, or what was before it in the stream, to its end
  std::vector<Seconds> paths;  ///< the same of each path; empty where they were not timed
};

/// Times one transfer. Failures of the driver only mean that there is no time.
class Stopwatch {
 public:
  explicit Stopwatch(TimingEvents& events) : events_(events) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch();

  /// Around everything that is put into the caller's stream.
  void start(StreamHandle stream, PlaceId gpu) noexcept;
  void stop(StreamHandle stream) noexcept;

  /// Before the following: the program that is put into streams.
  void time_paths(const Program& program);
  /// True of a queue, other than the caller's, in which a path ends.
  [[nodiscard]] bool times(int queue) const;
  [[nodiscard]] bool has_started(int queue) const { return queues_.contains(queue); }
  /// Such a queue has been told to start.
  void start_queue(int queue, StreamHandle stream, PlaceId gpu) noexcept;
  /// A node has been put into the stream.
  void passed(int node, StreamHandle stream) noexcept;

  /// Nothing while the transfer is under way, or if it could not be timed.
  [[nodiscard]] std::optional<Timing> read() noexcept;
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  /// Two events of one GPU.
  struct Interval {
    PlaceId gpu = {};
    EventHandle begin = {};
    EventHandle end = {};
  };
  struct TimedPath {
    int last = -1;  ///< node
    int queue = Program::kCallersQueue;
    EventHandle end = {};
  };
  struct TimedQueue {
    Interval interval;
    Seconds issued;  ///< after the transfer's first call
  };

  void begin(Interval& interval, StreamHandle stream, PlaceId gpu);
  template <class Action>
  void attempt(Action action) noexcept;
  [[nodiscard]] Seconds time_of(const TimedPath& path, Seconds whole);
  void add_joins(Timing& timing);
  void give_back(PlaceId gpu, EventHandle event) noexcept;

  TimingEvents& events_;
  Interval whole_;
  Seconds called_;
  std::vector<TimedPath> paths_;
  std::map<int, TimedQueue> queues_;
  bool failed_ = false;
};

}  // namespace polypath::engine
