#pragma once
// Streams of the engine's own in which pinned windows go.

#include <map>
#include <mutex>
#include <optional>

#include "core/ids.h"
#include "driver/driver.h"

namespace polypath::engine {

/// One for each GPU. Thread-safe.
class WindowStreams {
 public:
  explicit WindowStreams(Driver& driver) : driver_(driver) {}
  WindowStreams(const WindowStreams&) = delete;
  WindowStreams& operator=(const WindowStreams&) = delete;
  ~WindowStreams();

  /// Made where that needs no context: to make one would take as long as gigabytes of copies.
  [[nodiscard]] std::optional<StreamHandle> on(PlaceId gpu);
  /// Blocks until what is in them has finished. False if that cannot be waited for in one.
  [[nodiscard]] bool wait_for_all() noexcept;

 private:
  Driver& driver_;
  std::mutex mutex_;
  std::map<PlaceId, StreamHandle> streams_;
};

}  // namespace polypath::engine
