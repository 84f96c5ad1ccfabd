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
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/settings.h"
#include "driver/driver.h"
#include "engine/call/copy_call.h"
#include "engine/execute/hops.h"
#include "engine/pageable/copy_threads.h"
#include "machine/driver_behaviour.h"

namespace polypath {

/// The piece of pinned memory that a part of a message passes through.
struct PinnedWindow {
  PinnedWindow(Driver& driver, Address address) : base(address), done(driver) {}

  Address base;
  EventSet done;        ///< the transfer from or into it has finished
  EventHandle pending;  ///< of `done`, where that is not known yet
};

/// All windows at one host place: one allocation.
struct PinnedWindows {
  PinnedWindows(Driver& used_driver, PlaceId host, Bytes window, int count);
  PinnedWindows(const PinnedWindows&) = delete;
  PinnedWindows& operator=(const PinnedWindows&) = delete;
  ~PinnedWindows();

  Driver& driver;
  Bytes window;  ///< the bytes of each
  Address base;
  std::vector<std::unique_ptr<PinnedWindow>> windows;
  bool lost = false;  ///< work that uses them may be queued, but cannot be waited for: keep off
};

/// Few are there soon: in a fifth of the time that all take (results/h100x2/windows.json).
enum class WindowsMade { few, all };

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
  [[nodiscard]] bool pays() const;
  /// True if everything that the copy needs is there, with so many windows. A stream is not needed:
  /// it might take a context of our own.
  [[nodiscard]] bool is_prepared(const CopyEnds& ends, WindowsMade wanted) const;
  /// Makes it, and takes the place of fewer windows. Takes long; errors of the driver pass through
  /// and leave nothing behind.
  void prepare(const CopyEnds& ends, WindowsMade wanted);
  /// The part of the time for all windows that these take.
  [[nodiscard]] double share_of(WindowsMade wanted) const;

  /// The bytes that a message of `bytes` sends at a time through all windows.
  [[nodiscard]] Bytes window_of(Bytes bytes) const { return window_of(bytes, window_); }

 private:
  CopyResult windowed(const CopyCall& call, const CopyEnds& ends);
  [[nodiscard]] static Bytes window_of(Bytes bytes, Bytes most);
  [[nodiscard]] Bytes window_for(WindowsMade wanted) const;
  [[nodiscard]] bool has_windows(PlaceId host, Bytes window) const;
  [[nodiscard]] std::optional<StreamHandle> stream_on(PlaceId gpu);
  [[nodiscard]] PinnedWindows& windows_at(PlaceId host);
  [[nodiscard]] CopyThreads& threads();

  Driver& driver_;
  Bytes window_;
  int windows_per_host_;
  int most_threads_;    ///< more reach no more of a host's memory
  int least_cpus_;      ///< fewer are slower than the driver's own copy
  int chosen_threads_;  ///< by the settings; zero: as many as the caller may use
  Send send_;
  EventPool events_;
  std::mutex copying_;              ///< held for a whole copy
  std::mutex preparing_;            ///< held while parts are made
  mutable std::mutex parts_mutex_;  ///< guards the parts below
  std::map<PlaceId, StreamHandle> streams_;
  /// By host. The last ones are used; work may be queued that uses those before.
  std::map<PlaceId, std::vector<std::unique_ptr<PinnedWindows>>> windows_;
  std::unique_ptr<CopyThreads> threads_;
};

}  // namespace polypath
