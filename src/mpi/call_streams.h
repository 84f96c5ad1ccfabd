#pragma once
// The stream of each GPU in which calls follow each other (turns.h).

#include <map>

#include "driver/driver.h"

namespace polypath::mpi {

/// Of one process. Not thread-safe. What is in the streams must be over before it ends.
class CallStreams {
 public:
  CallStreams() = default;
  CallStreams(const CallStreams&) = delete;
  CallStreams& operator=(const CallStreams&) = delete;
  ~CallStreams() { clear(); }

  /// Made when it is first asked for. `number` is the GPU's in this process: it has one stream for
  /// all drivers. The driver must outlive it.
  [[nodiscard]] StreamHandle of(Driver& driver, PlaceId gpu, int number);
  void clear() noexcept;

 private:
  struct Stream {
    Driver* driver;
    StreamHandle handle;
  };
  std::map<int, Stream> made_;
};

}  // namespace polypath::mpi
