// Transfers are timed, and the next ones like them do what was faster.

#include <algorithm>
#include <cmath>

#include "engine/engine.h"
#include "engine/measurement.h"
#include "plan/levelled.h"

namespace polypath {
namespace {

// Times that are waited for at once: a program that queues thousands of copies is not to have
// events for all of them.
constexpr std::size_t kMostMeasurements = 8;

constexpr Seconds kKeepPeriod = 2'000'000_us;

// True if a transfer from one place to another is what others of the kind have met as well.
bool expects(const TransferKind& kind, PlaceId source, PlaceId destination) {
  if (kind.both_ways != BothWays::no && kind.source == destination && kind.destination == source)
    return true;
  return std::any_of(kind.company.begin(), kind.company.end(), [&](const TransferKind::Met& met) {
    return std::get<0>(met) == source && std::get<1>(met) == destination;
  });
}

}  // namespace

bool Engine::may_learn(const CopyCall& call) const {
  return settings_.learn && !choice_of(call.options) && !call.options.asks_for_paths();
}

// What a transfer that is planned over several paths is to do by what others took.
void Engine::heed_experience(Decision& decision) {
  const CopyCall& call = decision.call;
  read_measurements(*decision.time);
  const Asked asked{call.stream, decision.ends.source, decision.ends.destination, call.bytes};
  TransferKind kind = kind_of(asked, decision.contention);
  if (const Split* split = experience_.split(kind)) take_split(decision, *split);
  const bool may_be_timed =
      !decision.contention.meets_same_way && measurements_.size() < kMostMeasurements;
  const PlanPointer plan = decision.plan;
  const Advice advice = experience_.advise(kind, *plan, may_be_timed);
  if (advice.natively && !go_natively(decision)) return;
  if (!advice.timed) return;
  decision.measurement = std::make_shared<Measurement>(
      std::move(kind), advice, plan, call.stream, *decision.time + plan->predicted, timing_events_);
}

// While that plan is being made the usual one will do.
void Engine::take_split(Decision& decision, const Split& split) {
  const SplitRequest request{decision.plan, split.shares, split.chunks};
  PlanPointer plan = background_ ? plans_.find(request, *background_) : plans_.make(request);
  if (plan) decision.plan = std::move(plan);
}

bool Engine::go_natively(Decision& decision) {
  PlanRequest request = request_of(decision);
  request.options.executor = Executor::native;
  PlanPointer plan = plan_for(request);
  if (!plan) return false;
  decision.plan = std::move(plan);
  decision.means = Means::native;
  decision.learnt = true;
  return true;
}

PlanRequest Engine::request_of(const Decision& decision) const {
  PlanRequest request{decision.ends.source, decision.ends.destination, decision.call.bytes,
                      complete(decision.call.options)};
  request.options.both_ways = decision.contention.both_ways;
  return request;
}

// Nobody waits: what is not over yet is looked at with a later copy.
void Engine::read_measurements(Seconds now) {
  std::erase_if(measurements_, [&](const std::shared_ptr<Measurement>& each) {
    if (now < each->look_at) return false;
    const std::optional<Timing> timing = each->watch.read();
    if (timing) learn_from(*each, *timing);
    each->look_at = now + each->plan->predicted;
    return timing || each->watch.failed();
  });
  if (now - kept_at_ > kKeepPeriod) keep_experience();
}

// A program may end without a word; never in a call of its own.
void Engine::keep_experience() {
  if (!keeper_ || !background_ || experience_.changes() == kept_changes_) return;
  kept_changes_ = experience_.changes();
  kept_at_ = driver_.now();
  background_->post([keeper = keeper_, learnt = experience_.learnt()] { keeper->keep(learnt); });
}

void Engine::learn_from(const Measurement& measurement, const Timing& timing) {
  if (measurement.advice.natively) return experience_.note_native(measurement.kind, timing.whole);
  experience_.note_paths(measurement.kind, measurement.advice.version, timing,
                         [&](std::span<const Seconds> paths, double damping) {
                           return plans_.level(*measurement.plan, paths, damping);
                         });
}

// What is timed is not to be timed beside others than those that it always meets.
void Engine::disturb_measurements(const Decision& decision) {
  std::erase_if(measurements_, [&](const std::shared_ptr<Measurement>& each) {
    return each->stream != decision.call.stream &&
           !expects(each->kind, decision.plan->source, decision.plan->destination);
  });
}

}  // namespace polypath
