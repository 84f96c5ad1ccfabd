#pragma once
// The ends of a rank's runs, which come one after another in any streams: their numbers, and which
// of them are over. Internal to src/collective.

#include <atomic>
#include <cstdint>

#include "driver/driver.h"
#include "engine/execute/events.h"

namespace polypath::collective {

/// One thread enqueues; others may ask.
class RunEnds {
 public:
  RunEnds(Driver& driver, PlaceId gpu);

  /// The number of the next run.
  [[nodiscard]] std::uint64_t next() const { return newest_ + 1; }
  /// What is enqueued on `stream` from here on comes after the last run.
  void come_after_last(StreamHandle stream);
  /// The next run ends here. Returns its number.
  std::uint64_t end(StreamHandle stream);

  /// True once a run is over, or so many others have been enqueued after it that nothing is known
  /// of it any more.
  [[nodiscard]] bool is_done(std::uint64_t run);
  /// True if a run is over for sure: it, or a later one, has been seen to be.
  [[nodiscard]] bool is_over(std::uint64_t run);
  [[nodiscard]] bool are_all_done() { return is_done(newest_); }
  /// The same, asked of the driver.
  [[nodiscard]] bool is_last_over() const;
  /// Waits for the last one.
  void synchronize();

 private:
  [[nodiscard]] EventHandle end_of(std::uint64_t run);

  Driver& driver_;
  EventList ends_;  ///< of the last runs, by number modulo their count
  std::atomic<EventHandle> last_ = EventHandle{};  ///< stands for the end of the last run
  StreamHandle last_stream_;
  std::atomic<std::uint64_t> newest_ = 0;
  std::atomic<std::uint64_t> done_ = 0;  ///< all up to this one are over
};

}  // namespace polypath::collective
