#include "driver/sim/order_log.h"

namespace polypath::sim {

void OrderLog::join(std::size_t thread, const MomentPointer& moment) {
  if (!moment) return;
  if (moment->known && !is_held(thread)) return races_.join(thread, moment->clock);
  keep(thread, moment, [this, thread, moment] { races_.join(thread, moment->clock); });
}

MomentPointer OrderLog::mark(std::size_t thread) {
  auto moment = unknown();
  perform(thread, [this, thread, moment] {
    moment->clock = races_.clock(thread);
    moment->thread = thread, moment->stamp = races_.stamp(thread);
    tell(*moment);
  });
  return moment;
}

void OrderLog::settle(const MomentPointer& moment, const Clock& clock) {
  moment->clock = clock;
  tell(*moment);
}

void OrderLog::keep(std::size_t thread, MomentPointer after, std::function<void()> what) {
  if (kept_.size() <= thread) kept_.resize(thread + 1);
  if (!is_held(thread)) after->held.push_back(thread);
  kept_[thread].push_back({std::move(after), std::move(what)});
}

// A moment that goes on may tell further moments: their threads take their turn after it.
void OrderLog::tell(Moment& moment) {
  moment.known = true;
  free_.insert(free_.end(), moment.held.begin(), moment.held.end());
  moment.held.clear();
  if (std::exchange(going_on_, true)) return;
  while (!free_.empty()) {
    const std::size_t thread = free_.back();
    free_.pop_back();
    go_on(thread);
  }
  going_on_ = false;
}

void OrderLog::go_on(std::size_t thread) {
  std::deque<Kept>& kept = kept_[thread];
  while (!kept.empty()) {
    const MomentPointer after = kept.front().after;
    if (after && !after->known) return after->held.push_back(thread);
    const std::function<void()> what = std::move(kept.front().what);
    what();
    kept.pop_front();
  }
}

}  // namespace polypath::sim
