#include "engine/decide/experience_decider.h"

#include <utility>

#include "engine/learn/measurement.h"

namespace polypath::engine {
namespace {

// True of a transfer that has the machine to itself, as far as is known.
bool is_alone(const Decision& decision) {
  const Contention& contention = decision.contention;
  return !decision.is_of_set() && contention.load.empty() && contention.foreign_load.empty() &&
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

void ExperienceDecider::apply(Decision& decision) {
  if (is_exchange(decision)) return compare_exchange(decision);
  if (!is_alone(decision)) return;
  learner_.read(*decision.time);
  const TransferKind kind = decision.kind();
  const Advice advice = learner_.suggest(kind, *decision.plan);
  const PlanPointer plan = take_split(decision.plan, advice.split);
  const bool natively = advice.natively && go_natively(decision);
  if (!natively) decision.plan = plan;
  else if (advice.trial) decision.untried = plan, decision.untried_for = decision.planned_for;
  if (natively != advice.natively) return;
  if (!advice.timed) return;
  decision.measurement = learner_.measure(kind, advice, plan, decision.call.stream, *decision.time);
}

// In an exchange a transfer's time says nothing of its plan, but of two ways which one is faster.
// Where the plan takes no longer than predicted of a native copy there is nothing to try. Both
// copies go natively if one does: a part of one copy through the host may slow down the other copy
// only.
void ExperienceDecider::compare_exchange(Decision& decision) {
  learner_.read(*decision.time);
  const TransferKind kind = decision.kind();
  const PlanPointer plan = decision.plan;
  WayTimes& exchanges = learner_.exchanges();
  const WayTimes::Advice found =
      exchanges.suggest(kind, {.at_best = plan->native_predicted, .expected = {}});
  const TransferKind back{kind.destination, kind.source, kind.size};
  const bool follows = !exchanges.goes_natively(kind) && exchanges.goes_natively(back);
  const bool natively = follows || found.way == ComparedWay::native;
  if (natively && !go_natively(decision)) return;
  if (natively && !follows && !exchanges.goes_natively(kind))
    decision.untried = plan, decision.untried_for = decision.planned_for;
  if (natively) decision.planned_for = PlannedFor::itself;
  if (follows || !found.timed || !learner_.may_time()) return;
  decision.measurement = learner_.measure(kind, Advice{.natively = natively, .timed = true}, plan,
                                          decision.call.stream, *decision.time);
  decision.measurement->of_exchange = true;
}

// While that plan is being made the usual one will do.
PlanPointer ExperienceDecider::take_split(const PlanPointer& plan, const Split& split) {
  if (split == Split{}) return plan;
  const PlanPointer other = plans_.find(SplitRequest{plan, split.shares, split.chunks});
  return other ? other : plan;
}

bool ExperienceDecider::go_natively(Decision& decision) {
  PlanRequest request = plans_.request_for(decision.call, decision.ends);
  request.options.executor = Executor::native;
  PlanPointer plan = plans_.find(request);
  if (!plan) return false;
  decision.plan = std::move(plan);
  decision.means = Method::native;
  decision.learnt = true;
  return true;
}

}  // namespace polypath::engine
