#pragma once
// Copies of the program before there is a session, behind work that may wait for the program: as
// held_copies.h, which needs one.

#include <cstdint>
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
  /// context. Records an event there, but not in a stream that is being captured.
  void note(cuda::StreamPointer stream) noexcept;
  /// True if what stands before one of these copies may not have finished. Waits for no stream.
  [[nodiscard]] bool any() noexcept;

 private:
  /// A default stream is another one in each thread.
  using Stream = std::tuple<cuda::ContextPointer, cuda::StreamPointer, std::thread::id>;
  struct Before {
    cuda::EventPointer event = nullptr;  ///< before the last copy of the stream
    std::uint64_t context_id = 0;        ///< the event ends with its context
  };

  void keep(const Stream& stream, cuda::EventPointer event);

  std::mutex mutex_;  ///< never held while an event is recorded, which may wait
  std::map<Stream, Before> before_;
};

}  // namespace polypath::preload
