#include "model/fluid.h"

#include <algorithm>

#include "core/error.h"

namespace polypath {
namespace {

// A flow this close to its end has ended: far below a byte, far above rounding.
constexpr double kNothingLeft = 1e-3;
// Sets of concurrent hops repeat; their rates are kept, up to a bound.
constexpr std::size_t kMostKnownRates = 4096;
constexpr int kUnlimited = -1;

}  // namespace

HopRates::HopRates(const Machine& machine)
    : machine_(machine), capacities_(capacities_of(machine)) {}

std::size_t HopRates::SceneHash::operator()(const Scene& scene) const noexcept {
  std::uint64_t hash = scene.hops.size();
  const auto mix = [&](std::int32_t value) {
    hash = (hash ^ static_cast<std::uint32_t>(value)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  };
  for (const std::int32_t hop : scene.hops) mix(hop);
  for (const ResourceId resource : scene.spent) mix(resource.value);
  return hash;
}

const std::vector<BytesPerSecond>& HopRates::of(const Scene& scene) {
  const auto known = known_.find(scene);
  if (known != known_.end()) return known->second;
  if (known_.size() >= kMostKnownRates) known_.clear();
  std::vector<Flow> flows;
  for (const std::int32_t index : scene.hops)
    flows.push_back({machine_.hop({index}).bandwidth, machine_.hop({index}).uses});
  const auto rates = fair_rates(flows, capacities_now(capacities_, scene.spent));
  std::vector<BytesPerSecond>& by_hop = known_[scene];
  by_hop.resize(machine_.hops.size());
  for (std::size_t f = 0; f < rates.size(); ++f)
    by_hop[static_cast<std::size_t>(scene.hops[f])] = rates[f];
  return by_hop;
}

Fluid::Fluid(const Machine& machine, HopRates& hop_rates)
    : machine_(machine),
      hop_rates_(hop_rates),
      credit_(hop_rates.capacities()),
      under_way_(machine.places.size()) {
  for (const Resource& resource : machine.resources) {
    has_engines_ |= resource.copies_at_once > 0;
    free_engines_.push_back(resource.copies_at_once > 0 ? resource.copies_at_once : kUnlimited);
  }
}

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
  events_.push({time, activity->id, step, activity});
}

void Fluid::advance_to(Seconds time) {
  while (play_next(time)) {
  }
  if (time > now_) flow_for(time - now_), now_ = time;
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

// Plays the next thing that happens, if it happens by `limit`.
bool Fluid::play_next(Seconds limit) {
  const Seconds completion = next_completion();
  const Seconds event = events_.empty() ? Seconds::infinity() : events_.top().time;
  const Seconds next = std::min({completion, event, now_ + credit_.lasts()});
  if (next > limit || next == Seconds::infinity()) return false;
  flow_for(next - now_);
  now_ = std::max(now_, next);
  if (event <= next) play_event();
  else if (completion <= next) end_flows();
  return true;
}

void Fluid::play_event() {
  const Event top = events_.top();
  events_.pop();
  if (top.step == Step::ready) become_ready(top.activity);
  else if (top.step == Step::flow) start_flow(top.activity);
  else finish(top.activity);
}

void Fluid::end_flows() {
  std::vector<ActivityPointer> ended;
  for (std::size_t f = 0; f < flowing_.size(); ++f)
    if (has_flowed(*flowing_[f], rates_[f])) ended.push_back(flowing_[f]);
  for (const auto& activity : ended) finish(activity);
}

// True if nothing is left, or so little that a clock this late cannot tell its end from now.
bool Fluid::has_flowed(const Activity& activity, BytesPerSecond rate) const {
  return activity.left <= kNothingLeft || now_ + Seconds{activity.left / rate.value} <= now_;
}

void Fluid::find_rates() {
  rates_stale_ = false;
  scene_.hops.clear();
  for (const auto& activity : flowing_) scene_.hops.push_back(activity->hop.value);
  std::ranges::sort(scene_.hops);
  scene_.spent = credit_.spent();
  const std::vector<BytesPerSecond>& by_hop = hop_rates_.of(scene_);
  rates_.clear();
  for (const auto& activity : flowing_) rates_.push_back(by_hop[activity->hop.index()]);
  if (credit_.empty()) return;
  credit_.take_nothing();
  for (std::size_t f = 0; f < flowing_.size(); ++f)
    credit_.take(machine_.hop(flowing_[f]->hop).uses, rates_[f].value);
}

Seconds Fluid::next_completion() {
  if (rates_stale_) find_rates();
  double soonest = Seconds::infinity().value;
  for (std::size_t f = 0; f < flowing_.size(); ++f)
    soonest = std::min(soonest, std::max(flowing_[f]->left, 0.0) / rates_[f].value);
  return now_ + Seconds{soonest};
}

void Fluid::flow_for(Seconds duration) {
  if (duration.value <= 0) return;
  if (rates_stale_) find_rates();
  for (std::size_t f = 0; f < flowing_.size(); ++f)
    flowing_[f]->left -= rates_[f].value * duration.value;
  if (credit_.pass(duration)) rates_stale_ = true;
}

void Fluid::become_ready(const ActivityPointer& activity) {
  activity->ready = now_;
  if (activity->may_go_on && !activity->may_go_on(activity)) return;
  if (!activity->hop.valid() || take_engines(*activity)) start(activity);
  else waiting_.push_back(activity);
}

// Takes all engines that the copy needs, or none.
bool Fluid::take_engines(const Activity& activity) {
  if (!has_engines_) return true;
  const auto& uses = machine_.hop(activity.hop).uses;
  for (const Use& use : uses)
    if (free_engines_[use.resource.index()] == 0) return false;
  for (const Use& use : uses)
    if (int& engines = free_engines_[use.resource.index()]; engines != kUnlimited) --engines;
  return true;
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

void Fluid::start_traffic(const ActivityPointer& kernel) {
  for (const Traffic& traffic : kernel->traffic) {
    auto part = std::make_shared<Activity>();
    part->hop = traffic.hop;
    part->left = traffic.bytes;
    part->part_of = kernel;
    flowing_.push_back(std::move(part));
  }
  kernel->flows = kernel->traffic.size();
  rates_stale_ = true;
}

void Fluid::end_traffic(const ActivityPointer& part) {
  std::erase(flowing_, part);
  rates_stale_ = true;
  if (--part->part_of->flows == 0) finish(part->part_of);
}

void Fluid::start_flow(const ActivityPointer& activity) {
  if (!activity->traffic.empty()) return start_traffic(activity);
  if (activity->left <= kNothingLeft) return finish(activity);
  flowing_.push_back(activity);
  rates_stale_ = true;
}

void Fluid::finish(const ActivityPointer& activity) {
  if (activity->part_of) return end_traffic(activity);
  if (std::erase(flowing_, activity) > 0) rates_stale_ = true;
  activity->finished = now_;
  activity->done = true;
  if (activity->on_done) activity->on_done(*activity);
  if (activity->hop.valid()) --under_way(activity->hop), release_engines(*activity);
  for (auto& [successor, delay] : activity->successors) {
    successor->ready = std::max(successor->ready, now_ + delay);
    if (--successor->unfinished == 0) schedule(successor->ready, Step::ready, successor);
  }
  activity->successors.clear();
  activity->on_done = nullptr;
  activity->may_go_on = nullptr;
}

// Gives the engines back, and starts every waiting copy that can start now, first come first
// served.
void Fluid::release_engines(const Activity& activity) {
  if (!has_engines_) return;
  for (const Use& use : machine_.hop(activity.hop).uses)
    if (int& engines = free_engines_[use.resource.index()]; engines != kUnlimited) ++engines;
  if (waiting_.empty()) return;
  std::vector<ActivityPointer> starting;
  std::erase_if(waiting_, [&](const ActivityPointer& waiting) {
    if (!take_engines(*waiting)) return false;
    starting.push_back(waiting);
    return true;
  });
  for (const auto& next : starting) start(next);
}

}  // namespace polypath
