#pragma once
// The moments for the race detector, in an order in which it can be told.
//
// The order of streams and events is known when calls are made. That of flags is not: which write a
// wait has seen shows only when it ends. So moments after such a wait, in its logical thread or in
// a thread that waits for that one, are kept back until then. Without flags nothing is ever kept
// back.
//
// A moment that is kept back is ordered by the host's knowledge when the detector is told, not by
// its knowledge at the call. A race may be missed where the host synchronised in between; no false
// race is reported.

#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "driver/sim/race_detector.h"

namespace polypath::sim {

/// A point of a logical thread: later moments are ordered after all that the clock has.
struct Moment {
  bool known = false;  ///< false: something before it still waits for a flag
  Clock clock = {};
  std::size_t thread = 0;
  std::uint32_t stamp = 0;
  std::vector<std::size_t> held = {};  ///< threads whose next act comes after it
};
using MomentPointer = std::shared_ptr<Moment>;

class OrderLog {
 public:
  explicit OrderLog(RaceDetector& races) : races_(races) {}

  /// Does `what` as part of the thread, now or once all before it in the thread is known.
  template <class What>
  void perform(std::size_t thread, What what) {
    if (!is_held(thread)) what();
    else keep(thread, nullptr, std::move(what));
  }
  /// The thread comes after the moment; null is none.
  void join(std::size_t thread, const MomentPointer& moment);
  /// The thread as far as it is now.
  [[nodiscard]] MomentPointer mark(std::size_t thread);
  /// A moment that settle() will tell.
  [[nodiscard]] static MomentPointer unknown() { return std::make_shared<Moment>(); }
  /// Tells a moment, and does what was kept back because of it.
  void settle(const MomentPointer& moment, const Clock& clock);

 private:
  struct Kept {
    MomentPointer after;  ///< may be null
    std::function<void()> what;
  };

  [[nodiscard]] bool is_held(std::size_t thread) const {
    return thread < kept_.size() && !kept_[thread].empty();
  }
  void keep(std::size_t thread, MomentPointer after, std::function<void()> what);
  void tell(Moment& moment);
  void go_on(std::size_t thread);

  RaceDetector& races_;
  std::vector<std::deque<Kept>> kept_;  ///< by thread, in the order of the calls
  std::vector<std::size_t> free_;       ///< threads that may go on
  bool going_on_ = false;
};

}  // namespace polypath::sim
