// Decides how a copy is done.

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "engine/engine.h"

namespace polypath {
namespace {

[[noreturn]] void fail_argument(const std::string& problem, const std::string& why,
                                const std::string& remedy) {
  fail(ErrorCode::invalid_argument, problem, why, remedy);
}

// True of an allocation that the address lies in, if it stays where it is.
bool holds(const std::optional<SeenBefore::Memory>& seen, Address address) {
  if (!seen) return false;
  const MemoryInfo& memory = seen->info;
  return (memory.kind == MemoryKind::device || memory.kind == MemoryKind::pinned) &&
         memory.base <= address && address < memory.base + memory.size;
}

// Memory that peers may reach is what kernels of its own GPU may use from another context, too.
std::optional<SeenBefore::Memory> look_at(Driver& driver, Address address) {
  const auto memory = driver.find_memory(address);
  if (!memory) return std::nullopt;
  const bool device = memory->kind == MemoryKind::device;
  return SeenBefore::Memory{*memory, device && !driver.kernels_reach(memory->place, address)};
}

// The memory of `bytes` at `address`, which must lie in one allocation, perhaps in the one `seen`
// before.
SeenBefore::Memory memory_of(Driver& driver, Address address, Bytes bytes, const char* what,
                             std::optional<SeenBefore::Memory>& seen) {
  if (address.value == 0)
    fail_argument(fmt::format("{} is null", what), "there is no memory there", "Pass an address.");
  if (!holds(seen, address)) seen = look_at(driver, address);
  if (!seen)
    fail_argument(fmt::format("{} 0x{:x} is not known to the driver", what, address.value),
                  "it is in no live allocation of this machine",
                  "Allocate it at one of the machine's places.");
  const MemoryInfo& memory = seen->info;
  const std::uint64_t left = memory.base.value + memory.size.value - address.value;
  if (bytes.value > left)
    fail_argument(
        fmt::format("{} is too short", what),
        fmt::format("{} bytes are left in its allocation, {} were asked for", left, bytes.value),
        "Correct the size or the offset.");
  return *seen;
}

// A native copy does not yield to other processes, so their load does not matter.
bool goes_as_known(const RecentNatives::Known& known, const Contention& contention) {
  if (known.always) return true;
  if (!contention.set.empty()) return known.set == contention.set;
  if (!contention.load.empty()) return false;
  return contention.both_ways == BothWays::no ? known.alone
                                              : known.both_ways == contention.both_ways;
}

// Copies of a host's memory that are queued behind each other do worse than a joint plan says,
// which knows of one round only: simulated, two from GPUs of h200x4 lose 3 % instead of gaining 12.
bool uses_host(const Machine& machine, const RecurringSet& set) {
  const auto is_host = [&](PlaceId place) { return machine.place(place).kind == PlaceKind::host; };
  return std::any_of(set.transfers.begin(), set.transfers.end(), [&](const JointTransfer& each) {
    return is_host(each.source) || is_host(each.destination);
  });
}

}  // namespace

CopyEnds Engine::resolve_memory(const CopyCall& call) {
  SeenBefore nothing;
  return resolve_memory(call, nothing);
}

CopyEnds Engine::resolve_memory(const CopyCall& call, SeenBefore& seen) {
  const auto source = memory_of(driver_, call.source, call.bytes, "source", seen.source);
  const auto destination =
      memory_of(driver_, call.destination, call.bytes, "destination", seen.destination);
  return {.destination = destination.info.place,
          .source = source.info.place,
          .destination_kind = destination.info.kind,
          .source_kind = source.info.kind,
          .closed = source.closed || destination.closed};
}

void Engine::refuse_overlap(const CopyCall& call) {
  if (overlaps_itself(call))
    fail_argument("source and destination overlap", "the result would depend on the order of bytes",
                  "Copy through a third buffer.");
}

Decision Engine::decide(const CopyCall& call) {
  check_process();
  const std::scoped_lock lock(mutex_);
  return decide_locked(call, nullptr);
}

Decision Engine::decide(const CopyCall& call, const CopyEnds& ends) {
  check_process();
  const std::scoped_lock lock(mutex_);
  return decide_locked(call, &ends);
}

std::optional<Decision> Engine::recall(const CopyCall& call) {
  check_process();
  const std::scoped_lock lock(mutex_);
  Decision decision{.call = call};
  if (!recall_locked(decision)) return std::nullopt;
  return decision;
}

// A caller that knows the ends knows that the stream is not being captured.
Decision Engine::decide_locked(const CopyCall& call, const CopyEnds* known_ends) {
  Decision decision{.call = call};
  if (call.bytes.value == 0 || recall_locked(decision)) return decision;
  const CopyEnds ends = known_ends != nullptr ? *known_ends : resolve_memory(call);
  refuse_overlap(call);
  const auto captured = [&] { return known_ends == nullptr && driver_.is_capturing(call.stream); };
  decision.ends = ends;
  decision.native_threshold = native_threshold(call, ends);
  decision.means = Method::native;
  decision.may_block = !ends.stay_where_they_are();
  decision.stays_native = decision.below_threshold() && !decision.may_block;
  if (decision.may_block) {
    if (goes_by_windows(call, ends) && !captured()) choose_windows(decision);
  } else if (!decision.below_threshold() && !ends.closed && ends.source != ends.destination &&
             !captured()) {
    choose_plan(decision);
  }
  return decision;
}

// Smaller copies between the ends are native without a question. While that is being found out,
// they go as if it were as much as it can be.
Bytes Engine::native_threshold(const CopyCall& call, const CopyEnds& ends) {
  const Bytes most = settings_.min_message.value_or(kAlwaysPlanned);
  if (!ends.stay_where_they_are()) return std::min(most, settings_.pageable_min);
  if (settings_.min_message || call.bytes >= most || ends.source == ends.destination) return most;
  if (call.bytes < kNeverPlannedBelow) return kNeverPlannedBelow;
  const PlanRequest request{ends.source, ends.destination, call.bytes, complete(call.options)};
  return background_ ? plans_.find_smallest(request, *background_) : plans_.make_smallest(request);
}

void Engine::choose_plan(Decision& decision) {
  if (decision.call.cautious) plan_alone(decision);
  if (!decision.call.cautious || decision.means == Method::paths) plan_beside_others(decision);
  if (decision.means == Method::paths && reads_peer(decision.call, decision.ends) &&
      goes_by_host(*decision.plan))
    leave_hosts_out(decision);
  if (decision.means == Method::paths && may_learn(decision.call)) apply_experience(decision);
}

// While memory of the program is read over NVLink by a context that is not its own, copies of it to
// the host by contexts of ours wait for that: 22 to 31 GB/s instead of 54 (H100, driver 580,
// results/h100x4/own_contexts.json). If its own GPU sends it, by the program's stream, they do not.
// Memory of another process is not slowed down so (results/h200x4/own_contexts.json), yet UCX's
// gets take longer by the host (results/h200x4/ucx_gets.json). A program that names the paths gets
// them.
bool Engine::reads_peer(const CopyCall& call, const CopyEnds& ends) const {
  const bool reads = machine_.place(ends.source).kind == PlaceKind::gpu &&
                     machine_.place(ends.destination).kind == PlaceKind::gpu &&
                     call.stream_gpu != ends.source;
  return settings_.own_contexts && reads && !call.options.forced() && settings_.include.empty();
}

LeftOutRelays Engine::left_out_for(const CopyCall& call, const CopyEnds& ends) const {
  LeftOutRelays all = left_out_;
  if (reads_peer(call, ends))
    for (const PlaceId host : machine_.places_of(PlaceKind::host))
      all.add(host, LeftOutBecause::waits_for_reads);
  return all;
}

bool Engine::goes_by_host(const Plan& plan) const {
  return std::ranges::any_of(plan.shape.paths, [&](const PathShape& each) {
    return each.path.staged() &&
           machine_.place(staging_place(machine_, each.path)).kind == PlaceKind::host;
  });
}

void Engine::leave_hosts_out(Decision& decision) {
  PlanRequest request{decision.ends.source, decision.ends.destination, decision.call.bytes,
                      complete(decision.call.options)};
  request.options.left_out = left_out_for(decision.call, decision.ends);
  decision.plan = plan_for(request);
  decision.of_set = false;
  if (decision.plan && decision.plan->executor() != Executor::native) return;
  decision.means = Method::native;
  decision.obstacle = decision.plan ? FallbackReason::reads_peer : FallbackReason::preparing;
}

// As the last one like it, if that went natively and nothing is in flight that could change it;
// else the decision stays as it is.
bool Engine::recall_locked(Decision& decision) {
  const RecentNatives::Known* known = recent_.find(decision.call);
  if (known == nullptr || overlaps_itself(decision.call)) return false;
  const bool wherever = known->always || known->alone;
  if (known->plan && !(wherever && is_brief(*known->plan))) {
    const bool of_many = known->set.transfers.size() > 2;
    query_contention(decision, known->plan->source, known->plan->destination,
                     of_many ? LoadTracker::Depth::full : LoadTracker::Depth::cached);
    if (!goes_as_known(*known, decision.contention)) {
      decision.time.reset(), decision.contention = {};
      return false;
    }
  }
  decision.means = Method::native;
  decision.plan = known->plan;
  decision.recalled = true;
  decision.stays_native = known->always;
  decision.may_block = known->may_block;
  return true;
}

// A brief native copy is not counted as load; a longer one is, so that other transfers see it.
bool Engine::is_brief(const Plan& plan) const {
  return plan.predicted <= machine_.driver.brief_copy;
}

// The transfers that a copy would share the machine with now.
void Engine::query_contention(Decision& decision, PlaceId source, PlaceId destination,
                              LoadTracker::Depth depth) {
  const CopyCall& call = decision.call;
  decision.time = driver_.now();
  decision.contention =
      load_->contention_of({call.stream, source, destination, call.bytes}, *decision.time, depth);
}

void Engine::plan_alone(Decision& decision) {
  const CopyCall& call = decision.call;
  const CopyEnds& ends = decision.ends;
  const PlanRequest request{ends.source, ends.destination, call.bytes, complete(call.options)};
  decision.plan = plan_for(request);
  if (!decision.plan) {
    decision.obstacle = FallbackReason::preparing;
    if (!reads_peer(call, ends)) prepare_once_planned(call, request);
  } else if (decision.plan->executor() != Executor::native) {
    decision.means = Method::paths;
  } else {
    decision.stays_native = true;
  }
  if (decision.stays_native && !is_brief(*decision.plan))
    query_contention(decision, ends.source, ends.destination);
}

// Its part of the recurring set, if all of that is known; else the plan beside the other transfers
// in flight.
void Engine::plan_beside_others(Decision& decision) {
  query_contention(decision, decision.ends.source, decision.ends.destination);
  const FallbackReason obstacle = use_joint_plan(decision);
  if (!decision.of_set) plan_by_itself(decision);
  if (decision.obstacle == FallbackReason::none) decision.obstacle = obstacle;
  const bool native = !decision.plan || decision.plan->executor() == Executor::native;
  decision.means = native ? Method::native : Method::paths;
}

// Returns whether the joint plan is still being made. It runs as streams: to make graphs would hold
// up the second round by more than they gain in many.
FallbackReason Engine::use_joint_plan(Decision& decision) {
  const CopyCall& call = decision.call;
  const RecurringSet& set = decision.contention.set;
  if (set.empty() || call.options.asks_for_paths() || choice_of(call.options) == Executor::native)
    return FallbackReason::none;
  if (set.queues && uses_host(machine_, set)) return FallbackReason::none;
  const Executor executor = choice_of(call.options).value_or(Executor::stream);
  const JointPlanPointer joint = joint_plan_of(set, executor);
  if (!joint) return FallbackReason::preparing;
  if (set.issuers != Issuers::processes && !has_lanes(*joint)) return FallbackReason::none;
  const JointTransfer own{decision.ends.source, decision.ends.destination, call.bytes};
  const auto part = std::find(set.transfers.begin(), set.transfers.end(), own);
  decision.plan = joint->plans[static_cast<std::size_t>(part - set.transfers.begin())];
  decision.of_set = true;
  return FallbackReason::none;
}

// Null while it is being made.
JointPlanPointer Engine::joint_plan_of(const RecurringSet& set, Executor executor) {
  if (JointPlanPointer known = recent_parts_.find(set, executor, left_out_)) return known;
  JointPlanPointer joint = joint_plan_for({.transfers = set.transfers,
                                           .options = {.issuers = set.issuers,
                                                       .queues = set.queues,
                                                       .executor = executor,
                                                       .left_out = left_out_}});
  if (joint) recent_parts_.remember(set, executor, left_out_, joint);
  return joint;
}

// Instead of a graph that does not pay yet, the best plan that needs none.
void Engine::plan_for_now(Decision& decision, PlanRequest request) {
  decision.plan = plan_for(request);
  if (!decision.plan || decision.plan->executor() != Executor::graph || request.options.executor)
    return;
  GraphWish& wish = graph_amortizer_.of(*decision.plan, decision.call.stream);
  if (graph_amortizer_.is_due(wish, *decision.plan)) return;
  request.options.executor = Executor::stream;
  const PlanPointer meanwhile = plan_for(request);
  if (meanwhile) wish.count(*decision.plan, *meanwhile);
  decision.plan = meanwhile;
  decision.until_graph = true;
}

void Engine::plan_by_itself(Decision& decision) {
  const CopyCall& call = decision.call;
  const CopyEnds& ends = decision.ends;
  const Contention& contention = decision.contention;
  PlanRequest request{ends.source, ends.destination, call.bytes, complete(call.options),
                      contention.load};
  const bool forced = call.options.forced();
  if (!forced) request.options.both_ways = contention.both_ways;
  request.options.followers_unknown = contention.followers_unknown;
  plan_for_now(decision, request);
  if (!decision.plan && !reads_peer(call, ends)) prepare_once_planned(call, request);
  if (decision.plan && yields_to_other_processes(decision) && !forced) {
    request.options.executor = Executor::native;
    decision.plan = plan_for(request);
    decision.yields_to_other_processes = true;
  }
  if (!decision.plan) decision.obstacle = FallbackReason::preparing;
}

// Where other processes leave no room a plan of several paths becomes one native copy: to plan
// around them would move all of them to the same free resources at the same moment. Four ranks in a
// ring on two H200s lost a third by that.
bool Engine::yields_to_other_processes(const Decision& decision) const {
  if (decision.plan->executor() == Executor::native) return false;
  return load_->lacks_room(*decision.plan, decision.contention.foreign_load);
}

}  // namespace polypath
