#pragma once
// Recorded work whose times are not all known: of a transfer nothing is written before all of it is
// over, so that chunks can be counted.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "driver/driver.h"
#include "driver/trace/gpu_clocks.h"
#include "driver/trace/inbox.h"
#include "driver/trace/spare_events.h"
#include "driver/trace/streams.h"
#include "driver/trace/timed_work.h"

namespace polypath::trace {

class OpenTransfers {
 public:
  using Write = std::function<void(const std::vector<TimedWork>&)>;

  /// All of these outlive it. `left_out` counts pieces that cannot be written.
  OpenTransfers(Driver& driver, Streams& streams, SpareEvents& spare, Inbox& inbox,
                std::atomic<std::uint64_t>& left_out)
      : driver_(driver),
        streams_(streams),
        spare_(spare),
        inbox_(inbox),
        left_out_(left_out),
        clocks_(driver) {}

  void add(std::vector<TimedWork> taken);
  /// Reads the events of what is over.
  void read_all();
  /// Writes transfers that are over; or all, but for their unfinished work.
  void write_complete(bool all, const Write& write);
  /// Gives back the events of the GPUs' clocks.
  void clear_clocks() { clocks_.clear(); }

 private:
  /// Pieces that are written together.
  struct Transfer {
    std::vector<TimedWork> parts;
    std::size_t looked_at = 0;  ///< parts that there were the last time
  };
  using Key = std::pair<int, std::uint64_t>;

  [[nodiscard]] bool read(TimedWork& timed);

  Driver& driver_;
  Streams& streams_;
  SpareEvents& spare_;
  Inbox& inbox_;
  std::atomic<std::uint64_t>& left_out_;
  GpuClocks clocks_;
  std::map<Key, Transfer> transfers_;
  std::uint64_t next_single_ = 0;
};

}  // namespace polypath::trace
