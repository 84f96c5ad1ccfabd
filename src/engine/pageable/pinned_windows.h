#pragma once
// The pinned memory that copies of pageable memory pass through, by the host that it lies at.
//
// A message uses windows of a size that fits it, as many as the memory has room for: the more, the
// less it matters when a thread sees that one of them is filled, or has been sent. Messages of
// different sizes follow each other through the same memory, so it is accounted for in units.

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/ids.h"
#include "core/settings.h"
#include "driver/driver.h"
#include "engine/execute/events.h"

namespace polypath::engine {

/// The least pinned memory that is accounted for by itself.
struct PinnedUnit {
  PinnedUnit(Driver& driver, Address address) : base(address), done(driver) {}

  Address base;
  EventSet done;        ///< the transfer from or into a window that begins here has finished
  EventHandle pending;  ///< of the window that it was last part of, where that is not known yet
};

/// All windows at one host place: one allocation.
struct PinnedWindows {
  PinnedWindows(Driver& used_driver, PlaceId host, Bytes window, int count);
  PinnedWindows(const PinnedWindows&) = delete;
  PinnedWindows& operator=(const PinnedWindows&) = delete;
  ~PinnedWindows();

  Driver& driver;
  Bytes window;  ///< the bytes of the largest
  Bytes unit;
  Address base;
  std::vector<std::unique_ptr<PinnedUnit>> units;
  bool lost = false;  ///< work that uses them may be queued, but cannot be waited for: keep off
};

/// That memory in windows of one size.
class EqualWindows {
 public:
  /// `window` is at most that of the largest.
  EqualWindows(PinnedWindows& memory, Bytes window);

  [[nodiscard]] std::size_t count() const { return memory_.units.size() / units_each_; }
  [[nodiscard]] Address base(std::size_t window) const { return first_of(window).base; }
  /// The event to be recorded behind a transfer of the window.
  [[nodiscard]] EventSet& done(std::size_t window) const { return first_of(window).done; }
  /// A transfer that uses the window is queued, with that event behind it.
  void note_sent(std::size_t window, EventHandle event);
  /// True if no transfer uses it any more.
  [[nodiscard]] bool is_idle(std::size_t window);
  /// The event of the transfer that was last seen to use it; zero: none.
  [[nodiscard]] EventHandle pending(std::size_t window) const { return first_of(window).pending; }

 private:
  [[nodiscard]] PinnedUnit& first_of(std::size_t window) const {
    return *memory_.units[window * units_each_];
  }

  PinnedWindows& memory_;
  std::size_t units_each_;
};

/// Few are there soon: in a fifth of the time that all take (results/h100x2/windows.json).
enum class WindowsMade { few, all };

/// The bytes that a message of `bytes` sends at a time, at most `most`.
[[nodiscard]] Bytes bytes_of_window(Bytes bytes, Bytes most);

/// The windows of all hosts, as large as they are wanted so far. Thread-safe.
class WindowsByHost {
 public:
  WindowsByHost(Driver& driver, const Settings& settings)
      : driver_(driver), window_(settings.pageable_window), count_(settings.pageable_windows) {}
  WindowsByHost(const WindowsByHost&) = delete;
  WindowsByHost& operator=(const WindowsByHost&) = delete;
  /// Waits for the transfers that use them.
  ~WindowsByHost();

  /// The bytes of each where all have been made.
  [[nodiscard]] Bytes largest() const { return window_; }
  /// The part of the time for all windows that these take.
  [[nodiscard]] double share_of(WindowsMade wanted) const;
  [[nodiscard]] bool are_at(PlaceId host, WindowsMade wanted) const;
  /// Those of the host that are to be added; null if they are there.
  [[nodiscard]] std::unique_ptr<PinnedWindows> make_missing(PlaceId host, WindowsMade wanted) const;
  /// They are used from here on; null is none.
  void add(PlaceId host, std::unique_ptr<PinnedWindows> made);
  /// Those that are used at the host, which has some. Error (driver): they are lost.
  [[nodiscard]] PinnedWindows& at(PlaceId host) const;
  /// Work that cannot be waited for may use any of them.
  void lose_all();

 private:
  [[nodiscard]] Bytes window_for(WindowsMade wanted) const;

  Driver& driver_;
  Bytes window_;
  int count_;  ///< for each host
  mutable std::mutex mutex_;
  /// The last ones are used; work may be queued that uses those before.
  std::map<PlaceId, std::vector<std::unique_ptr<PinnedWindows>>> windows_;
};

}  // namespace polypath::engine
