#pragma once
// How ranks end together. Internal to src/collective.
//
// In a first round each says that it makes no more calls: queued work then ends everywhere. In a
// second round each says how that went. So all ranks report a problem that one rank has seen, and
// no rank uses a result that another rank knows to be invalid.

#include <functional>
#include <vector>

#include "communicator/bootstrap/bootstrap.h"
#include "core/units.h"

namespace polypath::collective {

/// `round` gives each rank's bytes to all, `synchronize` waits for queued work. Errors: those of
/// the rounds; the exception of `synchronize` at the first rank at which it did, which is named.
void end_together(const std::function<std::vector<Blob>(const Blob&)>& round,
                  const std::function<void()>& synchronize);

/// Waits until `is_over`; for `timeout` at most once `check` throws an Error: after an abort queued
/// work is released. False if it is not over then, or cannot be asked.
[[nodiscard]] bool await_end(const std::function<bool()>& is_over,
                             const std::function<void()>& check, Seconds timeout) noexcept;

/// Leaves when it goes, after errors too.
template <class Collectives>
class LeavesInTheEnd {
 public:
  explicit LeavesInTheEnd(Collectives& who) : who_(who) {}
  LeavesInTheEnd(const LeavesInTheEnd&) = delete;
  LeavesInTheEnd& operator=(const LeavesInTheEnd&) = delete;
  ~LeavesInTheEnd() { who_.leave(); }

 private:
  Collectives& who_;
};

}  // namespace polypath::collective
