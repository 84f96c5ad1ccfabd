#pragma once
// Finds accesses that no chain of stream order and events puts in order.
//
// Each stream and each branch of a graph is a logical thread with a vector clock (Fidge, Mattern):
// an access stamped (t, s) happens before an operation with clock C if C[t] >= s. Two accesses to
// overlapping bytes, at least one a write, neither before the other, are a race, independent of the
// timing. The order of the host program counts through the work that it has synchronised with;
// several host threads count as one, so that an order between them that the driver cannot see is
// never reported.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/units.h"
#include "driver/driver.h"

namespace polypath::sim {

/// A logical thread's knowledge of the others: element t is the last stamp of t it comes after.
class Clock {
 public:
  [[nodiscard]] std::uint32_t operator[](std::size_t thread) const {
    return thread < stamps_.size() ? stamps_[thread] : 0;
  }
  void set(std::size_t thread, std::uint32_t stamp);
  void join(const Clock& other);

 private:
  std::vector<std::uint32_t> stamps_;
};

/// Bytes that are read or written, or may be.
struct Region {
  Address begin;  ///< where they are
  Bytes bytes;
  Address allocation;  ///< through which of the allocations that share them; 0 if through none
};

class RaceDetector {
 public:
  /// Without `watches` it numbers threads and knows nothing of order: a clock has a stamp for every
  /// branch of a graph, which takes gigabytes where there are tens of thousands.
  explicit RaceDetector(bool watches) : watches_(watches) {}

  /// A new logical thread that comes after all the host has synchronised with.
  std::size_t add_thread();
  /// Gives a thread's number back for reuse.
  void retire_thread(std::size_t thread);

  /// The thread's clock after one more step of it; joins what the host knows first.
  const Clock& step(std::size_t thread);
  /// How many steps the thread has made.
  [[nodiscard]] std::uint32_t stamp(std::size_t thread) const { return steps_[thread]; }
  [[nodiscard]] const Clock& clock(std::size_t thread) const { return clocks_[thread]; }
  /// `thread` comes after everything in `clock`.
  void join(std::size_t thread, const Clock& clock) {
    if (watches_) clocks_[thread].join(clock);
  }
  /// The host comes after everything in `clock`.
  void join_host(const Clock& clock) {
    if (watches_) host_.join(clock);
  }

  /// The thread's current step reads or writes; `what` names it. Returns a message if it races.
  std::string access(std::size_t thread, const Region& region, bool write, const std::string& what);
  /// True if an access to these bytes through this allocation is not known to the host to have
  /// finished.
  [[nodiscard]] bool in_use(const Region& region) const;
  /// Forgets all accesses to these bytes through this allocation.
  void forget(const Region& region);

 private:
  /// Within one block.
  struct Access {
    std::uintptr_t begin;
    std::uintptr_t end;
    Address allocation;
    bool write;
    std::size_t thread;
    std::uint32_t stamp;
    std::shared_ptr<const std::string> what;
  };
  using Accesses = std::vector<Access>;

  void add(Accesses& earlier, const Access& now, std::string& race) const;
  static bool touches(const Access& access, const Region& region);
  static std::string describe(const Access& a, const Access& b);

  bool watches_;
  std::vector<Clock> clocks_;
  std::vector<std::uint32_t> steps_;
  std::vector<std::size_t> retired_;
  Clock host_;
  std::map<std::uintptr_t, Accesses> accesses_;  // by block of kBlock bytes
};

}  // namespace polypath::sim
