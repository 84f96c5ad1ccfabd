#pragma once
// The known facts about streams with work: their owners, and the work that they wait for.

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "driver/driver.h"

namespace polypath::trace {

/// Work that other work comes after, by an event: the last in its stream when that was recorded.
struct Awaited {
  CopyLabel label;
  StreamHandle stream;
};

/// How many pieces of work of one stream are timed at a time. A driver's stream takes about a
/// thousand entries before the call that adds one blocks, of which each piece has two.
inline constexpr std::size_t kMostOfOwnStream = 128;
/// Of a stream of the program, which has other work in it that may wait for the program.
inline constexpr std::size_t kMostOfForeignStream = 32;

/// Thread-safe.
class Streams {
 public:
  void add(StreamHandle stream, PlaceId gpu, bool own);
  void remove(StreamHandle stream);

  /// A stream that takes a piece of work to be timed.
  struct Place {
    PlaceId gpu;
    bool own = false;
    std::vector<Awaited> awaited;
  };
  /// Nothing if the stream is not known, or has enough of it that is not over.
  [[nodiscard]] std::optional<Place> enter(StreamHandle stream,
                                           const std::function<bool(EventHandle)>& is_over);
  /// A piece has been put into the stream, up to the event.
  void put(StreamHandle stream, const CopyLabel& label, EventHandle end);

  void recorded(EventHandle event, StreamHandle stream);
  void waits(StreamHandle stream, EventHandle event);
  void forget(EventHandle event);

  /// The last work in the stream that has been seen to end, which is the moment given now.
  [[nodiscard]] Seconds exchange_end(StreamHandle stream, Seconds end);
  [[nodiscard]] bool is_own(StreamHandle stream);

 private:
  struct Stream {
    PlaceId gpu;
    bool own = false;
    std::deque<EventHandle> ends = {};  ///< of pieces that are not known to be over
    std::optional<CopyLabel> last = {};
    Seconds ended{-1e9};
    std::vector<Awaited> awaited = {};
  };

  std::mutex mutex_;
  std::map<StreamHandle, Stream> streams_;
  std::map<EventHandle, Awaited> events_;
};

}  // namespace polypath::trace
