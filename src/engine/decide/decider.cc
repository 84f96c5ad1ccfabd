#include "engine/decide/decider.h"

#include "engine/call/memory_of_call.h"

namespace polypath::engine {
namespace {

// A native copy does not yield to other processes, so their load does not matter.
bool goes_as_known(const RecentNatives::Known& known, const Contention& contention) {
  if (known.always) return true;
  if (!contention.set.empty()) return known.set == contention.set;
  if (!contention.load.empty()) return false;
  return contention.both_ways == BothWays::no ? known.alone
                                              : known.both_ways == contention.both_ways;
}

}  // namespace

std::optional<Decision> Decider::recall(const CopyCall& call) {
  Decision decision{.call = call};
  if (!recall(decision)) return std::nullopt;
  return decision;
}

Decision Decider::decide(const CopyCall& call, const CopyEnds* known_ends) {
  Decision decision{.call = call};
  if (call.bytes.value == 0 || recall(decision)) return decision;
  const CopyEnds ends = known_ends != nullptr ? *known_ends : resolve_memory(driver_, call);
  refuse_overlap(call);
  const auto captured = [&] { return known_ends == nullptr && driver_.is_capturing(call.stream); };
  decision.ends = ends;
  decision.native_threshold = plans_.native_threshold(call, ends);
  decision.means = Method::native;
  decision.may_block = !ends.stay_where_they_are();
  decision.stays_native = decision.below_threshold() && !decision.may_block;
  if (decision.may_block) {
    if (windows_.is_possible(call, ends) && !captured()) windows_.decide(decision);
  } else if (!decision.below_threshold() && ends.let_in(call.stream_gpu) &&
             ends.source != ends.destination && !captured()) {
    paths_.decide(decision);
  }
  return decision;
}

// As the last one like it, if that went natively and nothing is in flight that could change it;
// else the decision stays as it is.
bool Decider::recall(Decision& decision) {
  const RecentNatives::Known* known = recent_.find(decision.call);
  if (known == nullptr || overlaps_itself(decision.call)) return false;
  const bool wherever = known->always || known->alone;
  if (known->plan && !(wherever && paths_.is_brief(*known->plan))) {
    const bool of_many = known->set.transfers.size() > 2;
    paths_.query_contention(decision, known->plan->source, known->plan->destination,
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

}  // namespace polypath::engine
