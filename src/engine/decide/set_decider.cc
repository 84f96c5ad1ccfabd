#include "engine/decide/set_decider.h"

#include <algorithm>

#include "engine/call/memory_of_call.h"

namespace polypath::engine {
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

Decision recalled_part(const SetDecision& many, std::size_t number, const CopyCall& call) {
  return {.call = call,
          .means = Method::native,
          .plan = many.joint->plans[number],
          .planned_for = PlannedFor::calls_together,
          .time = many.time,
          .recalled = true};
}

Decision part_of_joint_plan(const SetDecision& many, std::size_t transfer, const CopyCall& call,
                            const CopyEnds& ends) {
  const PlanPointer& plan = many.joint->plans[transfer];
  const bool native = plan->executor() == Executor::native;
  return {.call = call,
          .ends = ends,
          .means = native ? Method::native : Method::paths,
          .plan = plan,
          .planned_for = PlannedFor::calls_together,
          .contention = many.contentions[transfer],
          .time = many.time,
          .yields_to_other_processes = many.yields_to_other_processes};
}

}  // namespace

SetDecider::SetDecider(Driver& driver, const Settings& settings, PlanFinder& plans,
                       LoadTracker& load, Decider& decider, PieceDecider& pieces)
    : driver_(driver),
      plans_(plans),
      load_(load),
      decider_(decider),
      pieces_(pieces),
      recent_(std::min(settings.min_message.value_or(kNeverPlannedBelow), settings.pageable_min)) {}

// Without a joint plan each copy is by itself.
void SetDecider::decide(SetDecision& many) {
  if (recall(many)) return;
  examine_all(many);
  if (pieces_.decide(many)) return;
  many.set = arrange(many.members);
  const std::size_t transfers = many.set.transfers.size();
  if (transfers < 2 || transfers > kMostJointTransfers || !may_be_joint(many)) return;
  many.joint = joint_plan(many);
}

bool SetDecider::decide_batch(SetDecision& many) {
  many.batched = true;
  examine_all(many);
  return pieces_.decide(many) && many.pieces->set.members.size() == many.calls.size();
}

// As the last set like it, if all of that went natively. Others are to know of it all the same.
bool SetDecider::recall(SetDecision& many) {
  many.joint = recent_.find(many.calls);
  many.recalled = many.joint != nullptr &&
                  std::none_of(many.calls.begin(), many.calls.end(),
                               [](const CopyCall& call) { return overlaps_itself(call); });
  if (many.recalled) many.time = driver_.now();
  else many.joint = nullptr;
  return many.recalled;
}

// If every call is a transfer of the joint plan, and native by it.
void SetDecider::remember(const SetDecision& many, std::span<const CopyResult> results) {
  if (!many.joint || many.recalled || many.yields_to_other_processes ||
      many.set.transfers.size() != many.calls.size())
    return;
  const bool native = std::all_of(results.begin(), results.end(), [](const CopyResult& result) {
    return result.means == Method::native && result.obstacle == FallbackReason::none;
  });
  if (native) recent_.remember(many.calls, many.joint);
}

void SetDecider::forget(const SetDecision& many) {
  if (many.recalled) recent_.forget(many.calls);
}

SetMember SetDecider::examine(const CopyCall& call, SeenBefore& seen) {
  SetMember member{.call = call};
  if (call.bytes.value == 0) return member;
  member.ends = resolve_memory(driver_, call, seen);
  member.source_allocation = seen.source->info.base;
  member.destination_allocation = seen.destination->info.base;
  refuse_overlap(call);
  if (!seen.captured || seen.captured->first != call.stream)
    seen.captured = {call.stream, driver_.is_capturing(call.stream)};
  member.captured = seen.captured->second;
  if (!member.captured && call.options.asks_for_paths()) (void)decider_.decide(call, &member.ends);
  const bool stays = !member.captured && member.ends.are_open() &&
                     member.ends.stay_where_they_are() &&
                     member.ends.source != member.ends.destination;
  member.plannable = stays && is_joint(member, seen);
  member.piece = stays && pieces_.may_be_piece(member);
  return member;
}

bool SetDecider::is_joint(const SetMember& member, SeenBefore& seen) {
  const CopyCall& call = member.call;
  return !call.options.asks_for_paths() && !call.cautious &&
         plans_.choice_of(call.options) != Executor::native &&
         call.bytes >= native_threshold(member, seen);
}

// Found once for hundreds of copies that are alike.
Bytes SetDecider::native_threshold(const SetMember& member, SeenBefore& seen) {
  const CopyCall& call = member.call;
  const SeenBefore::Threshold& last = seen.threshold;
  if (last.call != nullptr && last.call->bytes == call.bytes && last.call->stream == call.stream &&
      last.call->options == call.options && last.source_allocation == member.source_allocation &&
      last.destination_allocation == member.destination_allocation)
    return last.bytes;
  seen.threshold = {&call, member.source_allocation, member.destination_allocation,
                    plans_.native_threshold(call, member.ends)};
  return seen.threshold.bytes;
}

void SetDecider::examine_all(SetDecision& many) {
  SeenBefore seen;
  many.members.reserve(many.calls.size());
  for (const CopyCall& call : many.calls) many.members.push_back(examine(call, seen));
  bool any = false;
  for (SetMember& member : many.members) {
    if (!member.plannable) continue;
    const std::optional<Executor> choice = plans_.choice_of(member.call.options);
    if (!any) many.executor = choice;
    member.plannable = choice == many.executor;
    any = true;
  }
}

// Looks at what else is in flight: a joint plan knows nothing of that.
bool SetDecider::may_be_joint(SetDecision& many) {
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
    many.contentions[*index] = load_.contention_of(asked, many.time);
    if (!is_alone(many.set.transfers, transfer, many.contentions[*index])) return false;
  }
  return true;
}

// As one copy yields to other processes: where they leave no room, all are native copies.
JointPlanPointer SetDecider::joint_plan(SetDecision& many) {
  JointRequest request{.transfers = many.set.transfers,
                       .options = {.issuers = Issuers::one_thread,
                                   .free_order = true,
                                   .executor = many.executor,
                                   .left_out = plans_.left_out()}};
  JointPlanPointer joint = plans_.find(request);
  if (joint && lacks_room(*joint, many)) {
    many.yields_to_other_processes = true;
    request.options.executor = Executor::native;
    joint = plans_.find(request);
  }
  return joint && plans_.has_lanes(*joint) ? joint : nullptr;
}

bool SetDecider::lacks_room(const JointPlan& joint, const SetDecision& many) const {
  for (std::size_t k = 0; k < joint.plans.size(); ++k)
    if (joint.plans[k]->executor() != Executor::native &&
        load_.lacks_room(*joint.plans[k], many.contentions[k].foreign_load))
      return true;
  return false;
}

Decision SetDecider::decide_one(const SetDecision& many, std::size_t number, const CopyCall& call) {
  if (many.recalled) return recalled_part(many, number, call);
  const SetMember& member = many.members[number];
  // Copies below the threshold are not examined further: there may be hundreds of them.
  if (call.bytes.value > 0 && member.ends.stay_where_they_are() && !call.options.forced() &&
      call.bytes < plans_.native_threshold(call, member.ends))
    return {.call = call,
            .ends = member.ends,
            .means = Method::native,
            .planned_for = PlannedFor::calls_together};
  if (const auto transfer = many.part(number).transfer)
    return part_of_joint_plan(many, *transfer, call, member.ends);
  return decider_.decide(call, member.captured ? nullptr : &member.ends);
}

}  // namespace polypath::engine
