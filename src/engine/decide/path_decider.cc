#include "engine/decide/path_decider.h"

#include <algorithm>
#include <utility>

namespace polypath::engine {
namespace {

// Copies of a host's memory that are queued behind each other do worse than a joint plan says,
// which knows of one round only: simulated, two from GPUs of h200x4 lose 3 % instead of gaining 12.
bool uses_host(const Machine& machine, const RecurringSet& set) {
  const auto is_host = [&](PlaceId place) { return machine.place(place).kind == PlaceKind::host; };
  return std::any_of(set.transfers.begin(), set.transfers.end(), [&](const JointTransfer& each) {
    return is_host(each.source) || is_host(each.destination);
  });
}

bool goes_by_host(const Machine& machine, const Plan& plan) {
  return std::ranges::any_of(plan.shape.paths, [&](const PathShape& each) {
    return each.path.staged() &&
           machine.place(staging_place(machine, each.path)).kind == PlaceKind::host;
  });
}

// Returns whether that changes what is asked for.
bool add_contention(PlanRequest& request, const Contention& contention, bool forced) {
  PlanOptions& options = request.options;
  const BothWays both_ways = forced ? options.both_ways : contention.both_ways;
  if (contention.load.empty() && options.both_ways == both_ways &&
      options.followers_unknown == contention.followers_unknown)
    return false;
  request.concurrent = contention.load;
  options.both_ways = both_ways;
  options.followers_unknown = contention.followers_unknown;
  return true;
}

}  // namespace

PathDecider::PathDecider(Driver& driver, const Machine& machine, const Settings& settings,
                         PlanFinder& plans, LoadTracker& load, Preparer& preparer,
                         ExperienceDecider& experience)
    : driver_(driver),
      machine_(machine),
      plans_(plans),
      load_(load),
      preparer_(preparer),
      experience_(experience),
      graph_amortizer_(machine.costs, settings.graph_after,
                       static_cast<std::size_t>(settings.plan_cache)) {}

void PathDecider::decide(Decision& decision) {
  std::optional<Asked> alone;
  if (decision.call.cautious) alone = plan_alone(decision);
  if (!decision.call.cautious || decision.means == Method::paths)
    decide_beside_others(decision, std::move(alone));
  if (decision.means == Method::paths && plans_.reads_peer(decision.call, decision.ends) &&
      goes_by_host(machine_, *decision.plan))
    leave_hosts_out(decision);
  if (decision.means == Method::paths && plans_.may_learn(decision.call.options))
    experience_.apply(decision);
}

void PathDecider::leave_hosts_out(Decision& decision) {
  PlanRequest request = plans_.request_for(decision.call, decision.ends);
  request.options.left_out = plans_.left_out_for(decision.call, decision.ends);
  decision.plan = plans_.find(request);
  decision.planned_for = PlannedFor::itself;
  if (decision.plan && decision.plan->executor() != Executor::native) return;
  decision.means = Method::native;
  decision.obstacle = decision.plan ? FallbackReason::reads_peer : FallbackReason::preparing;
}

bool PathDecider::is_brief(const Plan& plan) const {
  return plan.predicted <= machine_.driver.brief_copy;
}

void PathDecider::query_contention(Decision& decision, PlaceId source, PlaceId destination,
                                   LoadTracker::Depth depth) {
  const CopyCall& call = decision.call;
  decision.time = driver_.now();
  decision.contention =
      load_.contention_of({call.stream, source, destination, call.bytes}, *decision.time, depth);
}

PathDecider::Asked PathDecider::plan_alone(Decision& decision) {
  const CopyCall& call = decision.call;
  const CopyEnds& ends = decision.ends;
  PlanRequest request = plans_.request_for(call, ends);
  decision.plan = plans_.find(request);
  if (!decision.plan) {
    decision.obstacle = FallbackReason::preparing;
    if (!plans_.reads_peer(call, ends)) preparer_.prepare_once_planned(call, request);
  } else if (decision.plan->executor() != Executor::native) {
    decision.means = Method::paths;
  } else {
    decision.stays_native = true;
  }
  if (decision.stays_native && !is_brief(*decision.plan))
    query_contention(decision, ends.source, ends.destination);
  return {std::move(request), decision.plan};
}

void PathDecider::decide_beside_others(Decision& decision) {
  decide_beside_others(decision, std::nullopt);
}

void PathDecider::decide_beside_others(Decision& decision, std::optional<Asked> alone) {
  query_contention(decision, decision.ends.source, decision.ends.destination);
  const FallbackReason obstacle = use_joint_plan(decision);
  if (!decision.is_of_set()) plan_by_itself(decision, std::move(alone));
  if (decision.obstacle == FallbackReason::none) decision.obstacle = obstacle;
  const bool native = !decision.plan || decision.plan->executor() == Executor::native;
  decision.means = native ? Method::native : Method::paths;
}

// Returns whether the joint plan is still being made. It runs as streams: to make graphs would hold
// up the second round by more than they gain in many.
FallbackReason PathDecider::use_joint_plan(Decision& decision) {
  const CopyCall& call = decision.call;
  const RecurringSet& set = decision.contention.set;
  const std::optional<Executor> choice = plans_.choice_of(call.options);
  if (set.empty() || call.options.asks_for_paths() || choice == Executor::native)
    return FallbackReason::none;
  if (set.queues && uses_host(machine_, set)) return FallbackReason::none;
  const bool streams = !choice || !decision.ends.are_open();
  const JointPlanPointer joint = joint_plan_of(set, streams ? Executor::stream : *choice);
  if (!joint) return FallbackReason::preparing;
  if (set.issuers != Issuers::processes && !plans_.has_lanes(*joint)) return FallbackReason::none;
  const JointTransfer own{decision.ends.source, decision.ends.destination, call.bytes};
  const auto part = std::find(set.transfers.begin(), set.transfers.end(), own);
  decision.plan = plans_.by_owners(
      joint->plans[static_cast<std::size_t>(part - set.transfers.begin())], decision.ends);
  decision.planned_for = PlannedFor::recurring_set;
  return FallbackReason::none;
}

// Null while it is being made.
JointPlanPointer PathDecider::joint_plan_of(const RecurringSet& set, Executor executor) {
  const LeftOutRelays& left_out = plans_.left_out();
  if (JointPlanPointer known = recent_parts_.find(set, executor, left_out)) return known;
  JointPlanPointer joint = plans_.find(JointRequest{.transfers = set.transfers,
                                                    .options = {.issuers = set.issuers,
                                                                .queues = set.queues,
                                                                .executor = executor,
                                                                .left_out = left_out}});
  if (joint) recent_parts_.remember(set, executor, left_out, joint);
  return joint;
}

// Instead of a graph that does not pay yet, the best plan that needs none.
void PathDecider::avoid_graph_for_now(Decision& decision, PlanRequest request) {
  if (!decision.plan || decision.plan->executor() != Executor::graph || request.options.executor)
    return;
  GraphWish& wish = graph_amortizer_.of(*decision.plan, decision.call.stream);
  if (graph_amortizer_.is_due(wish, *decision.plan)) return;
  request.options.executor = Executor::stream;
  const PlanPointer meanwhile = plans_.find(request);
  if (meanwhile) wish.count(*decision.plan, *meanwhile);
  decision.plan = meanwhile;
  decision.until_graph = true;
}

void PathDecider::plan_by_itself(Decision& decision, std::optional<Asked> alone) {
  const CopyCall& call = decision.call;
  if (!alone) alone = Asked{plans_.request_for(call, decision.ends)};
  PlanRequest& request = alone->request;
  const bool forced = call.options.forced();
  const bool is_changed = add_contention(request, decision.contention, forced);
  decision.plan = is_changed || !alone->plan ? plans_.find(request) : alone->plan;
  avoid_graph_for_now(decision, request);
  if (!decision.plan && !plans_.reads_peer(call, decision.ends))
    preparer_.prepare_once_planned(call, request);
  if (decision.plan && yields_to_other_processes(decision) && !forced) {
    request.options.executor = Executor::native;
    decision.plan = plans_.find(request);
    decision.yields_to_other_processes = true;
  }
  if (!decision.plan) decision.obstacle = FallbackReason::preparing;
}

// Where other processes leave no room a plan of several paths becomes one native copy: to plan
// around them would move all of them to the same free resources at the same moment. Four ranks in a
// ring on two H200s lost a third by that.
bool PathDecider::yields_to_other_processes(const Decision& decision) const {
  if (decision.plan->executor() == Executor::native) return false;
  return load_.lacks_room(*decision.plan, decision.contention.foreign_load);
}

// Contexts come one after another, 0.13 s apart, even if each is made by a thread of its own
// (results/h200x4/own_contexts.json).
std::optional<Decision> PathDecider::over_ready_relays(const Decision& decision) {
  const CopyCall& call = decision.call;
  if (decision.planned_for != PlannedFor::itself || decision.means != Method::paths)
    return std::nullopt;
  if (call.options.asks_for_paths()) return std::nullopt;
  if (!decision.contention.load.empty() || decision.contention.both_ways != BothWays::no)
    return std::nullopt;
  const PlaceSet relays = preparer_.ready_relays(*decision.plan, call.stream);
  if (relays.empty()) return std::nullopt;
  PlanRequest request = plans_.request_for(call, decision.ends);
  request.options.left_out = plans_.left_out_for(call, decision.ends);
  Decision ready = decision;
  ready.plan = plans_.find(plans_.limited_to(relays, request));
  if (!ready.plan || ready.plan->executor() == Executor::native || yields_to_other_processes(ready))
    return std::nullopt;
  ready.measurement = nullptr;
  ready.planned_for = PlannedFor::ready_relays;
  return ready;
}

}  // namespace polypath::engine
