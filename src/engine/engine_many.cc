// Several copies that start together: the needs of each, one plan for those that can have one, and
// branches of streams for those that need not wait for each other.

#include "engine/engine_many.h"

#include <algorithm>
#include <exception>

#include "engine/call/copy_set.h"

namespace polypath {
namespace {

bool goes_from_to(const std::vector<JointTransfer>& transfers, PlaceId source,
                  PlaceId destination) {
  return std::any_of(transfers.begin(), transfers.end(), [&](const JointTransfer& transfer) {
    return transfer.source == source && transfer.destination == destination;
  });
}

// True if all that the transfer meets, or is expected to meet, is in the set as well.
bool is_alone(const std::vector<JointTransfer>& set, const JointTransfer& transfer,
              const Contention& contention) {
  if (contention.both_ways != BothWays::no &&
      !goes_from_to(set, transfer.destination, transfer.source))
    return false;
  return std::all_of(contention.load.begin(), contention.load.end(),
                     [&](const ConcurrentTransfer& other) {
                       return goes_from_to(set, other.source, other.destination);
                     });
}

}  // namespace

// Where the caller waits for a driver that may block, no lock is held.
std::vector<CopyResult> Engine::copy_many(std::span<const CopyCall> calls, std::size_t* enqueued) {
  if (enqueued != nullptr) *enqueued = 0;
  check_process();
  Many many{.calls = calls};
  std::unique_lock lock(mutex_);
  if (!recall_many(many)) arrange_many(many);
  std::exception_ptr failure;
  try {
    enqueue_many(many, lock);
    remember_many(many);
  } catch (const Error&) {
    failure = std::current_exception();
    if (many.recalled) recent_sets_.forget(calls);
  }
  if (enqueued != nullptr) *enqueued = many.results.size();
  if (!lock.owns_lock()) lock.lock();
  side_streams_.join(many.sides);
  if (failure) std::rethrow_exception(failure);
  return std::move(many.results);
}

// As the last set like it, if all of that went natively. Others are to know of it all the same.
bool Engine::recall_many(Many& many) {
  many.joint = recent_sets_.find(many.calls);
  many.recalled = many.joint != nullptr &&
                  std::none_of(many.calls.begin(), many.calls.end(),
                               [](const CopyCall& call) { return overlaps_itself(call); });
  if (many.recalled) many.time = driver_.now();
  else many.joint = nullptr;
  return many.recalled;
}

// If every call is a transfer of the joint plan, and native by it.
void Engine::remember_many(const Many& many) {
  if (!many.joint || many.recalled || many.yields_to_other_processes ||
      many.set.transfers.size() != many.calls.size())
    return;
  const bool native =
      std::all_of(many.results.begin(), many.results.end(), [](const CopyResult& result) {
        return result.means == Method::native && result.obstacle == FallbackReason::none;
      });
  if (native) recent_sets_.remember(many.calls, many.joint);
}

// All that `copy` would refuse is refused here, before anything is enqueued.
SetMember Engine::examine(const CopyCall& call, SeenBefore& seen) {
  SetMember member{.call = call};
  if (call.bytes.value == 0) return member;
  member.ends = resolve_memory(call, seen);
  member.source_allocation = seen.source->info.base;
  member.destination_allocation = seen.destination->info.base;
  refuse_overlap(call);
  if (!seen.captured || seen.captured->first != call.stream)
    seen.captured = {call.stream, driver_.is_capturing(call.stream)};
  member.captured = seen.captured->second;
  if (!member.captured && call.options.asks_for_paths()) (void)decide_locked(call, &member.ends);
  const bool stays = !member.captured && !member.ends.closed && member.ends.stay_where_they_are() &&
                     member.ends.source != member.ends.destination;
  member.plannable = stays && is_joint(member);
  member.piece = stays && may_be_piece(member);
  return member;
}

bool Engine::is_joint(const SetMember& member) {
  const CopyCall& call = member.call;
  return !call.options.asks_for_paths() && !call.cautious &&
         choice_of(call.options) != Executor::native &&
         call.bytes >= native_threshold(call, member.ends);
}

void Engine::examine_all(Many& many) {
  SeenBefore seen;
  many.members.reserve(many.calls.size());
  for (const CopyCall& call : many.calls) many.members.push_back(examine(call, seen));
  bool any = false;
  for (SetMember& member : many.members) {
    if (!member.plannable) continue;
    if (!any) many.executor = choice_of(member.call.options);
    member.plannable = choice_of(member.call.options) == many.executor;
    any = true;
  }
}

// Without a joint plan, or streams for it, each copy is by itself.
void Engine::arrange_many(Many& many) {
  examine_all(many);
  if (arrange_pieces(many)) return;
  many.set = arrange(many.members);
  const std::size_t transfers = many.set.transfers.size();
  if (transfers < 2 || transfers > kMostJointTransfers || !may_be_joint(many)) return;
  many.joint = joint_plan(many);
  if (!many.joint || many.set.branches.empty()) return;
  many.sides = side_streams_.fork(many.set.branches);
  if (many.sides.empty()) many.joint = nullptr;
}

// Looks at what else is in flight: a joint plan knows nothing of that.
bool Engine::may_be_joint(Many& many) {
  many.time = driver_.now();
  many.contentions.resize(many.set.transfers.size());
  for (std::size_t number = 0; number < many.members.size(); ++number) {
    const auto index = many.set.parts[number].transfer;
    if (!index) continue;
    const JointTransfer& transfer = many.set.transfers[*index];
    const TransferRequest asked{.stream = many.calls[number].stream,
                                .source = transfer.source,
                                .destination = transfer.destination,
                                .bytes = transfer.bytes};
    many.contentions[*index] = load_->contention_of(asked, many.time);
    if (!is_alone(many.set.transfers, transfer, many.contentions[*index])) return false;
  }
  return true;
}

// As yields_to_other_processes: where other processes leave no room, all are native copies.
JointPlanPointer Engine::joint_plan(Many& many) {
  JointRequest request{
      .transfers = many.set.transfers,
      .options = {
          .issuers = Issuers::one_thread, .executor = many.executor, .left_out = left_out_}};
  JointPlanPointer joint = joint_plan_for(request);
  if (joint && lacks_room(*joint, many)) {
    many.yields_to_other_processes = true;
    request.options.executor = Executor::native;
    joint = joint_plan_for(request);
  }
  return joint && has_lanes(*joint) ? joint : nullptr;
}

JointPlanPointer Engine::joint_plan_for(const JointRequest& request) {
  return background_ ? plans_.find(request, *background_) : plans_.make(request);
}

bool Engine::lacks_room(const JointPlan& joint, const Many& many) const {
  for (std::size_t k = 0; k < joint.plans.size(); ++k)
    if (joint.plans[k]->executor() != Executor::native &&
        load_->lacks_room(*joint.plans[k], many.contentions[k].foreign_load))
      return true;
  return false;
}

// Part of a joint plan may be worse than none.
bool Engine::has_lanes(const JointPlan& joint) const {
  const auto split =
      std::count_if(joint.plans.begin(), joint.plans.end(),
                    [](const PlanPointer& plan) { return plan->executor() != Executor::native; });
  return split <= settings_.lanes;
}

void Engine::enqueue_many(Many& many, std::unique_lock<BriefMutex>& lock) {
  lanes_.start_set();
  many.results.reserve(many.calls.size());
  for (std::size_t number = 0; number < many.calls.size(); ++number)
    many.results.push_back(enqueue_one_of_many(many, number, lock));
}

CopyResult Engine::enqueue_one_of_many(Many& many, std::size_t number,
                                       std::unique_lock<BriefMutex>& lock) {
  if (many.pieces && many.members[number].piece) return enqueue_piece(many, number);
  std::optional<CopyCall> beside;
  if (const auto branch = many.part(number).branch) {
    beside = many.calls[number];
    beside->stream = many.sides[*branch]->stream;
  }
  const Decision decision = decide_of_many(many, number, beside ? *beside : many.calls[number]);
  if (!decision.may_block) return enqueue_locked(decision, NativeCopyBy::engine);
  lock.unlock();
  CopyResult result = enqueue_unpinned(decision, NativeCopyBy::engine);
  lock.lock();
  return result;
}

Decision Engine::decide_of_many(const Many& many, std::size_t number, const CopyCall& call) {
  if (many.recalled)
    return {.call = call,
            .means = Method::native,
            .plan = many.joint->plans[number],
            .time = many.time,
            .recalled = true,
            .joint = true};
  const SetMember& member = many.members[number];
  const auto transfer = many.part(number).transfer;
  // Copies below the threshold are not examined further: there may be hundreds of them.
  if (call.bytes.value > 0 && member.ends.stay_where_they_are() && !call.options.forced() &&
      call.bytes < native_threshold(call, member.ends))
    return {.call = call, .ends = member.ends, .means = Method::native, .joint = true};
  if (!transfer) return decide_locked(call, member.captured ? nullptr : &member.ends);
  const PlanPointer& plan = many.joint->plans[*transfer];
  const bool native = plan->executor() == Executor::native;
  return {.call = call,
          .ends = member.ends,
          .means = native ? Method::native : Method::paths,
          .plan = plan,
          .contention = many.contentions[*transfer],
          .time = many.time,
          .yields_to_other_processes = many.yields_to_other_processes,
          .joint = true};
}

}  // namespace polypath
