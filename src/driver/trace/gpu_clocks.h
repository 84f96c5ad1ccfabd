#pragma once
// When events of each GPU happened by the host's clock; see recorder.h.

#include <map>
#include <optional>

#include "driver/driver.h"

namespace polypath::trace {

/// Not thread-safe.
class GpuClocks {
 public:
  explicit GpuClocks(Driver& driver) : driver_(driver) {}
  GpuClocks(const GpuClocks&) = delete;
  GpuClocks& operator=(const GpuClocks&) = delete;

  /// When the event, which is over, happened. Nothing if that cannot be said now, because the GPU
  /// does not get to it. Errors of the driver pass through.
  [[nodiscard]] std::optional<Seconds> time_of(PlaceId gpu, EventHandle event);
  /// Gives streams and events back.
  void clear() noexcept;

 private:
  struct Clock {
    StreamHandle stream;
    EventHandle now;   ///< the next reading
    EventHandle then;  ///< the last one
    Seconds at;        ///< when that happened
    Seconds within;    ///< give or take
    bool is_set = false;
    bool is_asked = false;  ///< `now` is in the stream, and had not happened
  };

  void set(Clock& clock);
  [[nodiscard]] Clock& clock_of(PlaceId gpu);

  Driver& driver_;
  std::map<PlaceId, Clock> clocks_;
};

}  // namespace polypath::trace
