#pragma once

namespace polypath::preload {

/// While there is one, this thread plans or makes a copy: calls that come back from the driver
/// meanwhile are Polypath's own.
class Busy {
 public:
  Busy();
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy();

  [[nodiscard]] static bool is_this_thread();
};

}  // namespace polypath::preload
