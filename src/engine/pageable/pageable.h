#pragma once
// Copies between pageable host memory and GPUs, through windows of pinned memory.
//
//   into a GPU     threads fill:    w0  w1  w2  (w0 sent?) w3  ...
//                  own stream:          w0  w1  w2  w3 ...            then the caller's stream
//   out of a GPU   own stream:      w0  w1  w2  (w0 emptied?) w3 ...
//                  threads empty:       w0  w1  w2  w3 ...            then the call returns
//
// The driver's own way is one thread and a small buffer. Here many threads work on windows while
// the GPUs work on others, and each window goes over every path that helps: the memory of the host
// remains as the limit.

#include <functional>
#include <mutex>
#include <optional>

#include "core/settings.h"
#include "driver/driver.h"
#include "engine/call/copy_call.h"
#include "engine/execute/events.h"
#include "engine/pageable/fitting_threads.h"
#include "engine/pageable/pinned_windows.h"
#include "engine/pageable/window_streams.h"
#include "machine/driver_behaviour.h"

namespace polypath::engine {

/// Thread-safe: copies are made one after another, because each takes all of the host's memory
/// bandwidth that it can get.
class PageableCopies {
 public:
  /// A copy between a pinned window and a GPU.
  struct WindowCall {
    CopyCall call;  ///< in the engine's own stream, if there is one
    CopyEnds ends;
    StreamHandle callers;  ///< it goes there while the engine's own stream may be held up
    PlaceId callers_gpu;
    EventSet& done;  ///< one of these is recorded behind it
  };
  struct Sent {
    CopyResult result;
    EventHandle done;
  };
  /// Enqueues it, by plan, and the event. If that throws UnsettledError, part of it may be queued;
  /// after any other Error only work that the caller can wait for in the two streams is.
  using Send = std::function<Sent(WindowCall call)>;

  /// Creates nothing before the first copy.
  PageableCopies(Driver& driver, const DriverBehaviour& behaviour, const Settings& settings,
                 Send send);
  PageableCopies(const PageableCopies&) = delete;
  PageableCopies& operator=(const PageableCopies&) = delete;
  /// Waits for everything queued, then gives everything back.
  ~PageableCopies();

  struct Copied {
    CopyResult last_window;
    Seconds took;  ///< from when its turn had come
  };

  /// Copies between pageable memory and a GPU. Blocks as the driver's own copy does: until what is
  /// in the stream has finished and the source has been read; out of a GPU, until every byte is
  /// there. Work that is put into the stream later starts after the copy.
  /// Returns none if a driver call failed and nothing of the copy is queued any more (part of the
  /// destination may have been written). Error (driver): part of it is queued and cannot be waited
  /// for.
  std::optional<Copied> copy(const CopyCall& call, const CopyEnds& ends);

  /// Blocks until what is in the stream has finished.
  void wait_for_earlier_work(const CopyCall& call);

  /// True if the CPUs that the caller may use are enough to be faster than the driver's own copy.
  [[nodiscard]] bool pays() const { return threads_.pay(); }
  /// True if everything that the copy needs is there, with so many windows. A stream is not needed:
  /// it might take a context of our own.
  [[nodiscard]] bool is_prepared(const CopyEnds& ends, WindowsMade wanted) const;
  /// Makes it, and takes the place of fewer windows. Takes long; errors of the driver pass through
  /// and leave nothing behind.
  void prepare(const CopyEnds& ends, WindowsMade wanted);
  /// The part of the time for all windows that these take.
  [[nodiscard]] double share_of(WindowsMade wanted) const { return windows_.share_of(wanted); }

  /// The bytes that a message of `bytes` sends at a time through all windows.
  [[nodiscard]] Bytes window_of(Bytes bytes) const {
    return bytes_of_window(bytes, windows_.largest());
  }

 private:
  CopyResult windowed(const CopyCall& call, const CopyEnds& ends);

  Driver& driver_;
  Send send_;
  EventPool events_;
  std::mutex copying_;    ///< held for a whole copy
  std::mutex preparing_;  ///< held while parts are made
  WindowStreams streams_;
  WindowsByHost windows_;
  FittingThreads threads_;
};

}  // namespace polypath::engine
