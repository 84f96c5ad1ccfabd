#include "engine/decide/recent_natives.h"

namespace polypath::engine {
namespace {

bool has_options(const PlanOptions& options) {
  return options.forced() || !options.chunks.empty() || options.both_ways != BothWays::no;
}

// Not where it depends on what else is in flight, which is never twice the same.
bool stays(const Decision& decision) {
  if (!decision.plan || decision.stays_native || decision.is_of_set()) return true;
  return decision.contention.load.empty() && !decision.yields_to_other_processes;
}

}  // namespace

std::optional<CopyLikeness> likeness_of(const CopyCall& call, Bytes smallest_planned) {
  if (has_options(call.options)) return std::nullopt;
  return CopyLikeness{.source_page = page_of(call.source),
                      .destination_page = page_of(call.destination),
                      .bytes = call.bytes < smallest_planned ? Bytes{} : call.bytes,
                      .stream_gpu = call.stream_gpu,
                      .executor = call.options.executor,
                      .cautious = call.cautious};
}

const RecentNatives::Known* RecentNatives::find(const CopyCall& call) {
  if (call.bytes < always_planned_)
    if (const Known* known = find_plain(call)) return known;
  const auto likeness = likeness_of(call, {});
  return likeness ? copies_.find(*likeness) : nullptr;
}

// The entry for all copies that are too small to plan, if this copy is one of them.
const RecentNatives::Known* RecentNatives::find_plain(const CopyCall& call) {
  const auto likeness = likeness_of(call, always_planned_);
  const Known* known = likeness ? copies_.find(*likeness) : nullptr;
  return known != nullptr && call.bytes < known->native_threshold ? known : nullptr;
}

void RecentNatives::forget(const CopyCall& call) {
  for (const Bytes all_alike : {Bytes{}, always_planned_})
    if (const auto likeness = likeness_of(call, all_alike)) copies_.forget(*likeness);
}

// An exchange that is not known yet will be, after some rounds, and may have a joint plan then.
void RecentNatives::note_company(const Decision& decision, Known& known) {
  const Contention& contention = decision.contention;
  const bool exchange = decision.is_of_set() && contention.set.transfers.size() == 2;
  if (decision.is_of_set()) known.set = contention.set;
  else if (contention.both_ways == BothWays::no) known.alone = true;
  const bool is_settled =
      exchange || (!decision.is_of_set() && ++known.beside_unknown > kUntilKnown);
  if (is_settled && contention.both_ways != BothWays::no) known.both_ways = contention.both_ways;
}

void RecentNatives::remember(const Decision& decision) {
  const auto likeness = likeness_of(decision.call, decision.native_threshold);
  if (!likeness || !stays(decision)) return;
  Known known{.plan = decision.plan,
              .native_threshold = decision.native_threshold,
              .always = !decision.plan || decision.stays_native,
              .may_block = decision.may_block};
  Known* before = copies_.peek(*likeness);
  if (before != nullptr) {
    known.alone = before->alone, known.both_ways = before->both_ways;
    known.set = before->set, known.beside_unknown = before->beside_unknown;
  }
  note_company(decision, known);
  if (before != nullptr) *before = std::move(known);
  else copies_.remember(*likeness, std::move(known));
}

}  // namespace polypath::engine
