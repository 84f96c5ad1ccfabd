#include "driver/sim/fluid.h"

#include <algorithm>

#include "core/error.h"

namespace polypath::sim {
namespace {

// A flow this close to its end has ended: far below a byte, far above rounding.
constexpr double kNothingLeft = 1e-3;
// Sets of concurrent hops repeat; their rates are kept, up to a bound.
constexpr std::size_t kMostKnownRates = 4096;

}  // namespace

Fluid::Fluid(const Machine& machine) : machine_(machine) {
  for (std::size_t r = 0; r < machine.resources.size(); ++r) {
    const Resource& resource = machine.resources[r];
    capacities_.push_back(resource.capacity);
    if (resource.copies_at_once > 0)
      free_engines_[{static_cast<std::int32_t>(r)}] = resource.copies_at_once;
  }
}

void Fluid::order(const OperationPointer& earlier, const OperationPointer& operation,
                  Seconds delay) {
  if (!earlier) return;
  if (earlier->done) {
    operation->issued = std::max(operation->issued, earlier->finished + delay);
    return;
  }
  ++operation->unfinished;
  earlier->successors.emplace_back(operation, delay);
}

void Fluid::submit(const OperationPointer& operation) {
  operation->id = next_id_++;
  operation->ready = std::max(operation->issued, now_);
  operation->left = operation->bytes.real();
  if (operation->unfinished == 0) schedule(operation->ready, Step::ready, operation);
}

void Fluid::schedule(Seconds time, Step step, const OperationPointer& operation) {
  events_.push({time, operation->id, step, operation});
}

void Fluid::advance_to(Seconds time) {
  while (play_next(time)) {
  }
  if (time > now_) flow_for(time - now_), now_ = time;
}

Seconds Fluid::advance_until(const Operation& operation) {
  while (!operation.done)
    if (!play_next(Seconds::infinity()))
      fail(ErrorCode::internal, "an operation waits for ever", "nothing is left that could end it");
  return operation.finished;
}

void Fluid::drain() {
  while (play_next(Seconds::infinity())) {
  }
}

// Plays the next thing that happens, if it happens by `limit`.
bool Fluid::play_next(Seconds limit) {
  const Seconds completion = next_completion();
  const Seconds event = events_.empty() ? Seconds::infinity() : events_.top().time;
  const Seconds next = std::min(completion, event);
  if (next > limit || next == Seconds::infinity()) return false;
  flow_for(next - now_);
  now_ = std::max(now_, next);
  if (event <= completion) {
    const Event top = events_.top();
    events_.pop();
    if (top.step == Step::ready) become_ready(top.operation);
    else if (top.step == Step::flow) start_flow(top.operation);
    else finish(top.operation);
    return true;
  }
  std::vector<OperationPointer> ended;
  for (const auto& operation : flowing_)
    if (operation->left <= kNothingLeft) ended.push_back(operation);
  for (const auto& operation : ended) finish(operation);
  return true;
}

void Fluid::find_rates() {
  rates_stale_ = false;
  std::vector<HopId> hops;
  for (const auto& operation : flowing_) hops.push_back(operation->hop);
  const auto known = known_rates_.find(hops);
  if (known != known_rates_.end()) {
    rates_ = known->second;
    return;
  }
  std::vector<Flow> flows;
  for (const HopId hop : hops) flows.push_back({machine_.hop(hop).bandwidth, machine_.hop(hop).uses});
  rates_ = fair_rates(flows, capacities_);
  if (known_rates_.size() < kMostKnownRates) known_rates_[hops] = rates_;
}

Seconds Fluid::next_completion() {
  if (rates_stale_) find_rates();
  double soonest = Seconds::infinity().value;
  for (std::size_t f = 0; f < flowing_.size(); ++f)
    soonest = std::min(soonest, std::max(flowing_[f]->left, 0.0) / rates_[f].value);
  return now_ + Seconds{soonest};
}

void Fluid::flow_for(Seconds duration) {
  if (flowing_.empty() || duration.value <= 0) return;
  if (rates_stale_) find_rates();
  for (std::size_t f = 0; f < flowing_.size(); ++f)
    flowing_[f]->left -= rates_[f].value * duration.value;
}

void Fluid::become_ready(const OperationPointer& operation) {
  operation->ready = now_;
  if (!operation->hop.valid() || take_engines(*operation)) start(operation);
  else waiting_.push_back(operation);
}

// Takes all engines that the copy needs, or none.
bool Fluid::take_engines(const Operation& operation) {
  if (free_engines_.empty()) return true;
  const auto& uses = machine_.hop(operation.hop).uses;
  for (const Use& use : uses) {
    const auto engine = free_engines_.find(use.resource);
    if (engine != free_engines_.end() && engine->second == 0) return false;
  }
  for (const Use& use : uses) {
    const auto engine = free_engines_.find(use.resource);
    if (engine != free_engines_.end()) --engine->second;
  }
  return true;
}

void Fluid::start(const OperationPointer& operation) {
  operation->started = now_;
  if (!operation->hop.valid()) return finish(operation);
  schedule(now_ + machine_.hop(operation->hop).latency, Step::flow, operation);
}

void Fluid::start_flow(const OperationPointer& operation) {
  if (operation->left <= kNothingLeft) return finish(operation);
  flowing_.push_back(operation);
  rates_stale_ = true;
}

void Fluid::finish(const OperationPointer& operation) {
  if (std::erase(flowing_, operation) > 0) rates_stale_ = true;
  operation->finished = now_;
  operation->done = true;
  if (operation->on_done) operation->on_done(*operation);
  if (operation->hop.valid()) release_engines(*operation);
  for (auto& [successor, delay] : operation->successors) {
    successor->ready = std::max(successor->ready, now_ + delay);
    if (--successor->unfinished == 0) schedule(successor->ready, Step::ready, successor);
  }
  operation->successors.clear();
  operation->on_done = nullptr;
}

// Gives the engines back, and starts every waiting copy that can start now, first come first served.
void Fluid::release_engines(const Operation& operation) {
  if (free_engines_.empty()) return;
  for (const Use& use : machine_.hop(operation.hop).uses) {
    const auto engine = free_engines_.find(use.resource);
    if (engine != free_engines_.end()) ++engine->second;
  }
  std::vector<OperationPointer> starting;
  std::erase_if(waiting_, [&](const OperationPointer& waiting) {
    if (!take_engines(*waiting)) return false;
    starting.push_back(waiting);
    return true;
  });
  for (const auto& next : starting) start(next);
}

}  // namespace polypath::sim
