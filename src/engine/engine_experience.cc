// Transfers are timed, and the next ones like them do what was faster.

#include <algorithm>

#include "engine/engine.h"
#include "engine/learn/measurement.h"
#include "plan/single/rebalanced.h"

namespace polypath {
namespace {

// Times that are waited for at once: a program that queues thousands of copies is not to have
// events for all of them.
constexpr std::size_t kMostMeasurements = 8;

constexpr Seconds kKeepPeriod = 500'000_us;  // a file is written then

// True of a transfer that has the machine to itself, as far as is known.
bool is_alone(const Decision& decision) {
  const Contention& contention = decision.contention;
  return !decision.of_set && contention.load.empty() && contention.foreign_load.empty() &&
         contention.both_ways == BothWays::no && !contention.meets_same_way;
}

// True of one of two copies that go opposite ways, each with its direction to itself. Of several
// copies in one direction a native one would be faster at the others' cost.
bool is_exchange(const Decision& decision) {
  const Contention& contention = decision.contention;
  return contention.both_ways != BothWays::no && !contention.meets_same_way &&
         contention.load.empty() && contention.foreign_load.empty();
}

}  // namespace

TransferKind Engine::kind_of(const Decision& decision) {
  return {decision.ends.source, decision.ends.destination, size_class(decision.call.bytes)};
}

// Not from what the caller has chosen.
bool Engine::may_learn(const CopyCall& call) const {
  return settings_.learn && !choice_of(call.options) && !call.options.asks_for_paths();
}

// Chooses how a transfer that is planned over several paths is done, by the times of earlier ones.
void Engine::apply_experience(Decision& decision) {
  if (is_exchange(decision)) return compare_exchange(decision);
  if (!is_alone(decision)) return;
  const CopyCall& call = decision.call;
  read_measurements(*decision.time);
  const TransferKind kind = kind_of(decision);
  const bool may_be_timed = measurements_.size() < kMostMeasurements;
  const Advice advice = experience_.suggest(kind, *decision.plan, may_be_timed);
  const PlanPointer plan = take_split(decision.plan, advice.split);
  const bool natively = advice.natively && go_natively(decision);
  if (!natively) decision.plan = plan;
  if (natively != advice.natively) return;
  if (!advice.timed) return;
  decision.measurement = std::make_shared<Measurement>(
      kind, advice, plan, call.stream, *decision.time + plan->predicted, timing_events_);
}

// In an exchange a transfer's time says nothing of its plan, but of two ways which one is faster.
// Where the plan takes no longer than predicted of a native copy there is nothing to try. Both
// copies go natively if one does: a part of one copy through the host may slow down the other copy
// only.
void Engine::compare_exchange(Decision& decision) {
  read_measurements(*decision.time);
  const TransferKind kind = kind_of(decision);
  const PlanPointer plan = decision.plan;
  const WayTimes::Advice found =
      compared_.exchanges.suggest(kind, {.at_best = plan->native_predicted, .expected = {}});
  const TransferKind back{kind.destination, kind.source, kind.size};
  const bool follows =
      !compared_.exchanges.goes_natively(kind) && compared_.exchanges.goes_natively(back);
  const bool natively = follows || found.way == ComparedWay::native;
  if (natively && !go_natively(decision)) return;
  if (natively) decision.of_set = false;
  if (follows || !found.timed || measurements_.size() >= kMostMeasurements) return;
  decision.measurement = std::make_shared<Measurement>(
      kind, Advice{.natively = natively, .timed = true}, plan, decision.call.stream,
      *decision.time + plan->predicted, timing_events_);
  decision.measurement->of_exchange = true;
}

// While that plan is being made the usual one will do.
PlanPointer Engine::take_split(const PlanPointer& plan, const Split& split) {
  if (split == Split{}) return plan;
  const SplitRequest request{plan, split.shares, split.chunks};
  const PlanPointer other = background_ ? plans_.find(request, *background_) : plans_.make(request);
  return other ? other : plan;
}

bool Engine::go_natively(Decision& decision) {
  PlanRequest request{decision.ends.source, decision.ends.destination, decision.call.bytes,
                      complete(decision.call.options)};
  request.options.executor = Executor::native;
  PlanPointer plan = plan_for(request);
  if (!plan) return false;
  decision.plan = std::move(plan);
  decision.means = Method::native;
  decision.learnt = true;
  return true;
}

// Does not wait: timings that are not complete yet are read at a later copy.
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
  if (measurement.of_exchange)
    return compared_.exchanges.note(
        measurement.kind, measurement.advice.natively ? ComparedWay::native : ComparedWay::ours,
        timing.whole);
  if (measurement.advice.natively) return experience_.note_native(measurement.kind, timing.whole);
  experience_.note_paths(measurement.kind, measurement.advice.version, timing,
                         [&](std::span<const Seconds> paths, double damping) {
                           return plans_.level(*measurement.plan, paths, damping);
                         });
}

// A timed transfer must have the machine to itself, unless it is one of an exchange.
void Engine::disturb_measurements(const Decision& decision) {
  std::erase_if(measurements_, [&](const std::shared_ptr<Measurement>& each) {
    return !each->of_exchange && each->stream != decision.call.stream;
  });
}

}  // namespace polypath
