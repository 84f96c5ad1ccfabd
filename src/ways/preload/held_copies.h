#pragma once
// Copies of the program that may stand behind work which waits for the program.
//
// CUDA gives streams to a few queues of the hardware by turns, and a copy that is held in such a
// queue holds up what comes into it later, of whichever stream: of forty streams, every fourth one
// stood still (H200, driver 580, results/h200x2/driver_behaviour.json). A program knows by trial
// which of its own streams those are; it cannot know that of ours. So while one of its copies may
// be held, nothing is put into streams of ours.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "engine/events.h"

namespace polypath::preload {

/// Thread-safe.
class HeldCopies {
 public:
  explicit HeldCopies(Driver& driver) : driver_(driver), spare_(driver) {}

  /// The program is about to put a copy into the stream of `gpu`, behind what may wait for it.
  /// Errors of the driver pass through; then nothing is noted.
  void note(StreamHandle stream, PlaceId gpu);
  /// True if what stands before one of the copies has not finished.
  [[nodiscard]] bool any();

 private:
  /// All that was in a stream before the last of its copies.
  struct Before {
    std::unique_ptr<EventPool::Lease> events;
    EventHandle event;
    std::uint64_t number = 0;  ///< of the note
  };
  /// A default stream is another one in each thread.
  using Stream = std::pair<StreamHandle, std::thread::id>;
  struct Asked {
    Stream stream;
    EventHandle event;
    std::uint64_t number;
  };

  [[nodiscard]] std::vector<Asked> noted();
  [[nodiscard]] bool is_over(EventHandle event);
  void forget(const Asked& over);

  Driver& driver_;
  EventPool spare_;
  std::mutex mutex_;  ///< never held during a call of the driver, which may wait
  std::map<Stream, Before> notes_;
  std::uint64_t next_number_ = 1;
};

}  // namespace polypath::preload
