#pragma once
// What happens on a timeline (fluid.h): a copy, a kernel, or anything else that takes its time.

#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <utility>
#include <vector>

#include "machine/machine.h"

namespace polypath::model {

/// The bytes that a kernel moves over a hop.
struct Traffic {
  HopId hop;
  double bytes = 0;
};

/// One activity on the timeline.
struct Activity {
  /// `memory` is that of its successors, and outlives it.
  explicit Activity(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : successors(memory) {}

  std::uint64_t id = 0;
  HopId hop;              ///< the hop a copy goes over; invalid for anything that is no copy
  Bytes bytes;            ///< of a copy
  Seconds duration = {};  ///< of anything else
  PlaceId gpu = {};       ///< that does it, if it is a kernel
  std::vector<Traffic> traffic = {};  ///< of a kernel, after `duration`
  Seconds issued;                     ///< it does not start before
  Seconds ready;
  Seconds started;
  Seconds finished = Seconds::infinity();
  bool done = false;
  bool waits = false;  ///< its stream waits for another one before it
  std::function<void(const Activity&)> on_done;
  /// Asked when it is ready; false: it ends when Fluid::resume says so.
  std::function<bool(const std::shared_ptr<Activity>&)> may_go_on;

  int unfinished = 0;  ///< activities it still waits for
  std::pmr::vector<std::pair<std::shared_ptr<Activity>, Seconds>> successors;  ///< and their delays
  double left = 0;                    ///< bytes still to flow
  std::shared_ptr<Activity> part_of;  ///< the kernel whose traffic this is
  std::size_t flows = 0;              ///< of its traffic, not yet through
};

using ActivityPointer = std::shared_ptr<Activity>;

}  // namespace polypath::model
