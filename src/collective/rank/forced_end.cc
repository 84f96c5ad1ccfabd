#include "collective/rank/forced_end.h"

#include <algorithm>

#include "collective/rank/timeouts.h"
#include "core/error.h"
#include "core/ignore_errors.h"

namespace polypath::collective {

// If a part is enqueued while another thread releases, either that thread sees the part, or this
// thread sees the release.
void ForcedEnd::check_held() const {
  if (released_)
    fail(ErrorCode::communicator, "a rank's part of a program cannot run",
         "what its ranks have in common was given up", "Make the group anew.");
}

// A driver that cannot be asked may still have to be released: then nothing says when that is done.
bool ForcedEnd::set_words_until(const std::function<bool()>& is_over, Seconds timeout) noexcept {
  bool over = false;
  (void)ignore_errors([&] {
    const Seconds start = driver_.now();
    while (!over) {
      if (!ignore_errors([&] { over = is_over(); }))
        timeout = std::min(timeout, kUnansweredTimeout);
      if (over || driver_.now() - start > timeout) return;
      awaited_.set_all();
    }
  });
  return over;
}

bool ForcedEnd::drain(const std::vector<EventHandle>& ends, Seconds timeout) noexcept {
  const auto is_done = [&](EventHandle end) { return driver_.is_done(end); };
  return set_words_until([&] { return std::all_of(ends.begin(), ends.end(), is_done); }, timeout);
}

void ForcedEnd::note_unsettled() noexcept {
  is_unsettled_ = true;
  (void)set_words_until([] { return false; }, kUnansweredTimeout);
}

bool ForcedEnd::release(const std::function<bool()>& is_over, Seconds timeout) {
  released_ = true;
  const auto none_is_left = [&] { return !is_enqueuing_ && is_over(); };
  return set_words_until(none_is_left, timeout) && !is_unsettled_;
}

}  // namespace polypath::collective
