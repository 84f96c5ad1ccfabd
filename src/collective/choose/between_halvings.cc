// Pieces between those that halving has tried, of what is best by then.

#include "collective/choose/choose.h"
#include "collective/choose/largest_piece.h"

namespace polypath::collective {

// Twice the piece fits slots if it has been tried.
bool CollectivePlanner::fits_twice(const CollectiveDraft& draft) const {
  CollectiveDraft larger = draft;
  larger.tuning.piece = draft.tuning.piece * 2;
  join_slots(larger.tuning, settings_.staging_slot);
  return larger.tuning.piece <= settings_.staging_slot || predictions_.contains(key_of(larger));
}

void CollectivePlanner::try_between_halvings(Entry& entry, const CollectiveRequest& request,
                                             const CollectiveOptions& options) {
  CollectiveDraft& best = entry.decision.draft;
  if (best.algorithm->is_kernel || best.tuning.piece < settings_.min_chunk * 2) return;
  const Bytes quarter{best.tuning.piece.value / 4};
  const bool may_grow = fits_twice(best);
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
