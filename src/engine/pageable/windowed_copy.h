#pragma once
// One copy of pageable memory in progress.

#include <optional>
#include <vector>

#include "engine/pageable/copy_threads.h"
#include "engine/pageable/pageable.h"
#include "engine/pageable/pinned_windows.h"

namespace polypath::engine {

/// The resources of such a copy.
struct WindowedMeans {
  Driver& driver;
  CopyThreads& threads;
  PinnedWindows& ring;                 ///< at the host's place
  std::optional<StreamHandle> stream;  ///< of the GPU, the engine's own; none: the caller's
  Bytes window;                        ///< bytes sent at a time
  const PageableCopies::Send& send;
};

class WindowedCopy {
 public:
  WindowedCopy(const WindowedMeans& means, const CopyCall& call, const CopyEnds& ends);
  WindowedCopy(const WindowedCopy&) = delete;
  WindowedCopy& operator=(const WindowedCopy&) = delete;
  /// Waits for the threads: they use the caller's memory.
  ~WindowedCopy();

  /// Makes the copy; returns how the last window went.
  CopyResult run();

 private:
  /// The window of pinned memory that a window of the message passes through.
  [[nodiscard]] std::size_t slot(std::size_t window) const { return window % slots_.count(); }
  [[nodiscard]] std::size_t slots_used() const;
  [[nodiscard]] Bytes offset_of(std::size_t window) const;
  [[nodiscard]] Bytes bytes_of(std::size_t window) const;
  void prepare();
  void into_gpu();
  void out_of_gpu();
  [[nodiscard]] Stores stores_for(Bytes offset) const;
  void start_copying();
  void send_next();
  void pass_the_time();

  WindowedMeans means_;
  EqualWindows slots_;
  const CopyCall& call_;
  const CopyEnds& ends_;
  bool inward_;  ///< into the GPU
  PlaceId gpu_;
  std::size_t count_;                         ///< of windows
  std::size_t sent_ = 0;                      ///< windows whose transfer has been enqueued
  std::size_t copying_ = 0;                   ///< windows that the threads have been given
  std::vector<CopyThreads::Ticket> tickets_;  ///< of those
  CopyResult last_;
};

}  // namespace polypath::engine
