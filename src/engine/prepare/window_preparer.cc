#include "engine/prepare/window_preparer.h"

#include <fmt/format.h>

#include <exception>
#include <mutex>

#include "core/log.h"

namespace polypath::engine {

Seconds WindowPreparer::gain_of(Bytes bytes, const CopyEnds& ends) const {
  const bool inward = ends.source_kind == MemoryKind::pageable;
  return bytes / (inward ? behaviour_.windows_gain_in : behaviour_.windows_gain_out);
}

// The setting scales all costs of preparing; its default stands for what was measured.
Seconds WindowPreparer::cost_of(WindowsMade wanted) const {
  const Seconds all = behaviour_.windows_cost *
                      (static_cast<double>(settings_.prepare_after) / Settings{}.prepare_after);
  return all * pageable_.share_of(wanted);
}

// Windows made beside the driver's own pageable copies wait for those copies, and the copies for
// them: for up to a second copies took a tenth longer. So a copy that gains the cost of the first
// windows makes them itself; small copies do when together they would have gained it.
bool WindowPreparer::provide(const CopyCall& call, const CopyEnds& ends) {
  if (background_ == nullptr || pageable_.is_prepared(ends, WindowsMade::all)) return true;
  const bool has_few = pageable_.is_prepared(ends, WindowsMade::few);
  const WindowsMade wanted = has_few ? WindowsMade::all : WindowsMade::few;
  const Seconds gain = gain_of(call.bytes, ends);
  const Seconds cost = cost_of(wanted);
  {
    const std::scoped_lock lock(mutex_);
    missed_ += gain * (1 + call.unasked);
    if (missed_ < cost || preparing_.exchange(true)) return has_few;
    missed_ = {};
  }
  if (!has_few && gain >= cost) return make(ends, wanted);
  background_->post([=, this] { (void)make(ends, wanted); });
  return has_few;
}

// Where they cannot be made it is not tried again.
bool WindowPreparer::make(const CopyEnds& ends, WindowsMade wanted) noexcept {
  try {
    pageable_.prepare(ends, wanted);
    preparing_ = false;
    return true;
  } catch (const std::exception& error) {
    log(LogLevel::warning, fmt::format("no pinned windows: {}", error.what()));
    return false;
  }
}

}  // namespace polypath::engine
