#pragma once
// How much is queued and unfinished in the streams of a lane.
//
// A driver's stream takes about 1000 entries (1021 copies, H200, driver 580); the call that adds
// one more blocks until there is room. The program's own copy would not block there, so a transfer
// of many chunks must not fill the queue.

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "driver/driver.h"
#include "engine/events.h"

namespace polypath {

class QueueDepth {
 public:
  /// Entries of a stream that are used at most. A driver maps streams to fewer queues: this leaves
  /// room for another's entries in the same one.
  static constexpr std::size_t kMostEntries = 768;

  explicit QueueDepth(Driver& driver) : driver_(driver) {}

  /// True if the streams can take so many entries more, each.
  [[nodiscard]] bool has_room(std::size_t entries);
  /// So many have been added, and are done when what is in `stream` of `gpu` now is.
  void add(std::size_t entries, StreamHandle stream, PlaceId gpu);

 private:
  /// Entries that are done when an event is.
  struct Mark {
    std::unique_ptr<EventSet> events;
    EventHandle event;
    std::size_t entries = 0;
  };

  void retire();

  Driver& driver_;
  std::deque<Mark> marks_;
  std::vector<std::unique_ptr<EventSet>> spare_;
  std::size_t marked_ = 0;    ///< entries of all marks
  std::size_t unmarked_ = 0;  ///< added since the last one
};

}  // namespace polypath
