#include "driver/sim/order_log.h"

#include <set>

namespace polypath::sim {

void OrderLog::join(std::size_t thread, const MomentPointer& moment) {
  if (!moment) return;
  if (kept_.empty() && moment->known) return races_.join(thread, moment->clock);
  keep(thread, moment, [this, thread, moment] { races_.join(thread, moment->clock); });
}

MomentPointer OrderLog::mark(std::size_t thread) {
  auto moment = unknown();
  perform(thread, [this, thread, moment] {
    *moment = {true, races_.clock(thread), thread, races_.stamp(thread)};
  });
  return moment;
}

void OrderLog::settle(const MomentPointer& moment, const Clock& clock) {
  moment->clock = clock;
  moment->known = true;
  if (!kept_.empty()) perform_kept();
}

void OrderLog::keep(std::size_t thread, MomentPointer after, std::function<void()> what) {
  kept_.push_back({thread, std::move(after), std::move(what)});
  perform_kept();
}

// One pass is enough: whatever needs a mark was called for after it.
void OrderLog::perform_kept() {
  std::set<std::size_t> held;
  for (auto next = kept_.begin(); next != kept_.end();) {
    const bool told = !next->after || next->after->known;
    if (!told || held.contains(next->thread)) {
      held.insert((next++)->thread);
      continue;
    }
    next->what();
    next = kept_.erase(next);
  }
}

}  // namespace polypath::sim
