// Which drafts are not played, or not all of them, because they cannot win; and at last
// those that are near the best.

#include <algorithm>

#include "collective/choose/choose.h"
#include "collective/choose/largest_piece.h"
#include "collective/choose/played_part.h"

namespace polypath::collective {
// As a graph, by the nodes of one round, and then by those that would be played. They count as
// played, so that the search goes no further than if they had been.
bool CollectivePlanner::needs_too_many_calls(const CollectiveDraft& draft,
                                             const CollectiveRequest& request,
                                             const GraphCalls& calls, Seconds most) {
  const Sample sample = this->sample(request, draft);
  if (draft.executor != Executor::graph || sample.beyond == 0) return false;
  if (calls.in_pieces_of(draft.tuning.piece) < most * kClearLoss) return false;
  const std::size_t nodes = program_for(draft, sample.larger).nodes().size();
  const double all = static_cast<double>(nodes) * times_of(request, sample.larger);
  const bool are_too_many = calls.of_node * all > most * kClearLoss;
  if (are_too_many) played_ += nodes;
  return are_too_many;
}

// By the first pieces, after which the links need so much more. In half the size they are through
// in half the time and need twice the calls; with more than 8 in place of one, too many.
bool CollectivePlanner::is_hopeless(const CollectiveDraft& draft, const Candidate& candidate,
                                    const CollectiveRequest& request,
                                    const CollectiveOptions& options, Seconds to_beat) {
  const Sample sample = this->sample(request, draft);
  if (to_beat == Seconds::infinity() || sample.beyond == 0) return false;
  const Program& program = program_for(draft, sample.smaller);
  const Seconds first = play(sample.smaller, draft.executor, program, are_divided(options));
  const double parts = times_of(request, sample.smaller);
  Seconds lowest = Seconds::infinity();
  for (const int pieces : {1, 2, 4, 8}) {
    const Seconds links = first * (1.0 / pieces) + candidate.least * (1 - 1 / (parts * pieces));
    lowest = std::min(lowest, std::max(links, candidate.least_calls() * pieces));
  }
  if (lowest <= to_beat * kClearLoss) return false;
  const double more = times_of(sample.larger, sample.smaller);
  played_ += static_cast<std::size_t>(static_cast<double>(program.nodes().size()) * more);
  return true;
}

// Between the pieces that halving has tried. Twice the best one fits slots if it has been tried.
void CollectivePlanner::try_between_halvings(Entry& entry, const CollectiveRequest& request,
                                             const CollectiveOptions& options) {
  CollectiveDraft& best = entry.decision.draft;
  if (best.algorithm->is_kernel || best.tuning.piece < settings_.min_chunk * 2) return;
  const Bytes quarter{best.tuning.piece.value / 4};
  CollectiveDraft larger = best;
  larger.tuning.piece = best.tuning.piece * 2;
  join_slots(larger.tuning, settings_.staging_slot);
  const bool may_grow = larger.tuning.piece <= settings_.staging_slot ||
                        predictions_.contains(twins_.first_like(larger));
  for (const std::uint64_t quarters : {6, 3}) {
    CollectiveDraft draft = best;
    draft.tuning.piece = quarter * quarters;
    if (quarters > 4 && !may_grow) continue;
    join_slots(draft.tuning, settings_.staging_slot);
    draft.predicted = std::max(predict(draft, request, options), entry.least());
    if (draft.predicted < best.predicted) best = draft;
  }
}

}  // namespace polypath::collective
