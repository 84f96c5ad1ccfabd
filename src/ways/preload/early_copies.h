#pragma once
// Copies of the program before there is a session, behind work that may wait for the program: as
// held_copies.h, which needs one.

#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include "driver/cuda/cuda_types.h"

namespace polypath::preload {

/// Thread-safe.
class EarlyCopies {
 public:
  /// This process's, never destroyed.
  static EarlyCopies& of_process();

  /// The program is about to put a copy into the stream, null being a default one of the current
  /// context. Not in streams that are being captured.
  void note(cuda::StreamPointer stream) noexcept;
  /// True if what stands before one of the copies may not have finished.
  [[nodiscard]] bool any() noexcept;

 private:
  /// A default stream is another one in each thread.
  using Stream = std::tuple<cuda::ContextPointer, cuda::StreamPointer, std::thread::id>;

  std::mutex mutex_;                             ///< never held while the driver may wait
  std::map<Stream, cuda::EventPointer> before_;  ///< the last copy of each stream
};

}  // namespace polypath::preload
