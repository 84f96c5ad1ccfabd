#include "model/fluid.h"

#include <algorithm>

#include "core/error.h"

namespace polypath::model {

Fluid::Fluid(const Machine& machine, const HopRates& hop_rates)
    : machine_(machine), flows_(hop_rates), engines_(machine), under_way_(machine.places.size()) {}

void Fluid::order(const ActivityPointer& earlier, const ActivityPointer& activity, Seconds delay) {
  if (!earlier) return;
  if (earlier->done) {
    activity->issued = std::max(activity->issued, earlier->finished + delay);
    return;
  }
  ++activity->unfinished;
  earlier->successors.emplace_back(activity, delay);
}

void Fluid::submit(const ActivityPointer& activity) {
  activity->id = next_id_++;
  activity->ready = std::max(activity->issued, now_);
  activity->left = activity->bytes.real();
  if (activity->unfinished == 0) schedule(activity->ready, Step::ready, activity);
}

void Fluid::schedule(Seconds time, Step step, const ActivityPointer& activity) {
  events_.push_back({time, activity->id, step, activity});
  std::ranges::push_heap(events_, std::greater{});
}

void Fluid::advance_to(Seconds time) {
  while (play_next(time)) {
  }
  if (time > now_) flows_.pass_to(time), now_ = time;
}

bool Fluid::play_until(const Activity& activity) {
  while (!activity.done)
    if (!play_next(Seconds::infinity())) return false;
  return true;
}

void Fluid::resume(const ActivityPointer& activity, Seconds delay) {
  schedule(now_ + delay, Step::finish, activity);
}

void Fluid::drain() {
  while (play_next(Seconds::infinity())) {
  }
}

bool Fluid::play_some(int steps) {
  for (int step = 0; step < steps; ++step)
    if (!play_next(Seconds::infinity())) return false;
  return true;
}

// Plays the next thing that happens, if it happens by `limit`. Rates are not found between things
// that happen at the same time.
bool Fluid::play_next(Seconds limit) {
  const Seconds event = events_.empty() ? Seconds::infinity() : events_.front().time;
  if (event <= now_ && event <= limit) {
    play_event();
    return true;
  }
  const Seconds completion = flows_.completion();
  const Seconds next = std::min({completion, event, flows_.credit_ends()});
  if (next > limit || next == Seconds::infinity()) return false;
  flows_.pass_to(next);
  now_ = std::max(now_, next);
  if (event <= next) play_event();
  else if (completion <= next)
    for (const auto& activity : flows_.through()) finish(activity);
  return true;
}

void Fluid::play_event() {
  std::ranges::pop_heap(events_, std::greater{});
  const Event top = std::move(events_.back());
  events_.pop_back();
  if (top.step == Step::ready) become_ready(top.activity);
  else if (top.step == Step::flow) start_flow(top.activity);
  else finish(top.activity);
}

void Fluid::become_ready(const ActivityPointer& activity) {
  activity->ready = now_;
  if (activity->may_go_on && !activity->may_go_on(activity)) return;
  if (!activity->hop.valid() || engines_.take_or_wait(activity)) start(activity);
}

int& Fluid::under_way(HopId hop) { return under_way_[machine_.executing_gpu(hop).index()]; }

void Fluid::start(const ActivityPointer& activity) {
  activity->started = now_;
  if (!activity->hop.valid()) {
    const Step next = activity->traffic.empty() ? Step::finish : Step::flow;
    if (activity->duration.value <= 0 && next == Step::finish) return finish(activity);
    return schedule(now_ + activity->duration, next, activity);
  }
  schedule(now_ + latency_of(*activity), Step::flow, activity);
  ++under_way(activity->hop);
}

// From the start of a copy until its bytes flow.
Seconds Fluid::latency_of(const Activity& activity) {
  const PlaceId gpu = machine_.executing_gpu(activity.hop);
  const Seconds latency = machine_.hop(activity.hop).latency;
  const int operations = activity.waits ? 2 : 1;
  return latency + machine_.place(gpu).busy_latency * (operations * under_way(activity.hop));
}

// Every waiting copy that can start now does, first come first served.
void Fluid::end_copy(const Activity& copy) {
  --under_way(copy.hop);
  for (const auto& next : engines_.give_back(copy)) start(next);
}

void Fluid::start_traffic(const ActivityPointer& kernel) {
  for (const Traffic& traffic : kernel->traffic) {
    auto part = std::make_shared<Activity>();
    part->hop = traffic.hop;
    part->left = traffic.bytes;
    part->part_of = kernel;
    flows_.begin(part);
  }
  kernel->flows = kernel->traffic.size();
}

void Fluid::end_traffic(const ActivityPointer& part) {
  flows_.end(part);
  if (--part->part_of->flows == 0) finish(part->part_of);
}

void Fluid::start_flow(const ActivityPointer& activity) {
  if (!activity->traffic.empty()) return start_traffic(activity);
  if (Flows::has_nothing_left(*activity)) return finish(activity);
  flows_.begin(activity);
}

void Fluid::finish(const ActivityPointer& activity) {
  if (activity->part_of) return end_traffic(activity);
  flows_.end(activity);
  activity->finished = now_;
  activity->done = true;
  if (activity->on_done) activity->on_done(*activity);
  if (activity->hop.valid()) end_copy(*activity);
  for (auto& [successor, delay] : activity->successors) {
    successor->ready = std::max(successor->ready, now_ + delay);
    if (--successor->unfinished == 0) schedule(successor->ready, Step::ready, successor);
  }
  activity->successors.clear();
  activity->on_done = nullptr;
  activity->may_go_on = nullptr;
}

}  // namespace polypath::model
