#include "engine/recent_natives.h"

namespace polypath {
namespace {

bool has_options(const PlanOptions& options) {
  return options.forced() || !options.chunks.empty() || options.both_ways != BothWays::no;
}

// Not where it depends on what else is in flight, which is never twice the same.
bool stays(const Decision& decision) {
  if (!decision.plan || decision.stays_native) return true;
  return decision.contention.load.empty() && !decision.gives_way;
}

}  // namespace

RecentNatives::Likeness RecentNatives::likeness_of(const CopyCall& call) const {
  return {.source_page = page_of(call.source),
          .destination_page = page_of(call.destination),
          .bytes = call.bytes < smallest_planned_ ? Bytes{} : call.bytes,
          .stream_gpu = call.stream_gpu,
          .executor = call.options.executor,
          .cautious = call.cautious};
}

const RecentNatives::Known* RecentNatives::find(const CopyCall& call) {
  return has_options(call.options) ? nullptr : copies_.find(likeness_of(call));
}

void RecentNatives::remember(const Decision& decision) {
  if (has_options(decision.call.options) || !stays(decision)) return;
  const Likeness likeness = likeness_of(decision.call);
  Known known{.plan = decision.plan,
              .always = !decision.plan || decision.stays_native,
              .may_block = decision.may_block};
  Known* before = copies_.peek(likeness);
  if (before != nullptr) known.alone = before->alone, known.both_ways = before->both_ways;
  if (decision.contention.both_ways == BothWays::no) known.alone = true;
  else known.both_ways = decision.contention.both_ways;
  if (before != nullptr) *before = std::move(known);
  else copies_.remember(likeness, std::move(known));
}

}  // namespace polypath
