#pragma once
// How ranks end together. Internal to src/collective.
//
// In a first round each says that it makes no more calls: what is queued then comes to its end
// everywhere. In a second one each says how that went. So what one rank has seen all report, and
// nobody takes for a result what another one knows is none.

#include <functional>
#include <vector>

#include "communicator/bootstrap/bootstrap.h"
#include "core/units.h"

namespace polypath {

/// `round` gives each rank's bytes to all, `synchronize` waits for what is queued. Errors: those of
/// the rounds; what `synchronize` threw at the first rank at which it did, which is named.
void end_together(const std::function<std::vector<Blob>(const Blob&)>& round,
                  const std::function<void()>& synchronize);

/// Waits until `is_over`; for `patience` at most once `check` throws an Error: after an abort what
/// is queued is released. False if it is not over then, or cannot be asked.
[[nodiscard]] bool await_end(const std::function<bool()>& is_over,
                             const std::function<void()>& check, Seconds patience) noexcept;

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

}  // namespace polypath
