#pragma once
// How much is queued and unfinished in the streams of a lane.
//
// A driver's stream takes so many entries; the call that adds one more blocks until there is room.
// The program's own copy would not block there, so a transfer of many chunks must not fill the
// queue.

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "driver/driver.h"
#include "engine/execute/events.h"

namespace polypath::engine {

class QueueDepth {
 public:
  /// Of each stream `most` entries are used, 4 or more: see DriverBehaviour::stream_entries.
  QueueDepth(Driver& driver, int most) : driver_(driver), most_(static_cast<std::size_t>(most)) {}

  /// True if the streams can take so many entries more, each.
  [[nodiscard]] bool fits(std::size_t entries);
  /// So many have been added; they are done when the present work of `stream` of `gpu` is.
  void add(std::size_t entries, StreamHandle stream, PlaceId gpu);

 private:
  /// Entries that are done when an event is.
  struct Mark {
    std::unique_ptr<EventSet> events;
    EventHandle event;
    std::size_t entries = 0;
  };

  [[nodiscard]] bool is_done(const Mark& mark) const;
  void retire();
  /// An event per transfer would cost more than it tells.
  [[nodiscard]] std::size_t entries_per_mark() const { return most_ / 4; }

  Driver& driver_;
  std::size_t most_;
  std::deque<Mark> marks_;
  std::vector<std::unique_ptr<EventSet>> spare_;
  std::size_t marked_ = 0;    ///< entries of all marks
  std::size_t unmarked_ = 0;  ///< added since the last one
};

}  // namespace polypath::engine
