#include "plan/joint/joint_chunk_search.h"

#include <algorithm>
#include <utility>

namespace polypath::plan {
namespace {

constexpr double kEndsApart = 1.1;  // ends of one transfer's paths

}  // namespace

// Other chunk counts for the transfers from `first` on, `count` of them; `taper` if it is not
// negative.
bool JointChunkSearch::scale(JointDraft& draft, std::size_t first, std::size_t count, double factor,
                             int taper, Effort effort) const {
  if (predictor_.has_played_enough()) return false;
  JointDraft trial = draft;
  for (std::size_t k = first; k < first + count; ++k)
    for (PathDraft& part : trial.transfers[k].paths) {
      part.chunks = std::max(1.0, part.chunks * factor);
      if (taper >= 0) part.taper = taper;
    }
  mover_.level(trial, 1, effort);
  if (!is_worthwhile(trial, draft)) return false;
  draft = std::move(trial);
  return true;
}

void JointChunkSearch::rescale(JointDraft& draft, Effort effort) const {
  const std::size_t all = predictor_.size();
  for (const double factor : {0.6, 1.5})
    while (scale(draft, 0, all, factor, -1, effort)) {
    }
  for (const int taper : {1, 2}) (void)scale(draft, 0, all, 1, taper, effort);
}

void JointChunkSearch::rescale_each(JointDraft& draft) const {
  for (std::size_t k = 0; k < predictor_.size(); ++k)
    for (const double factor : {0.6, 1.5})
      if (!is_native(draft.transfers[k]))
        while (scale(draft, k, 1, factor, -1, Effort::replay)) {
        }
}

void JointChunkSearch::break_steps(JointDraft& draft) const {
  for (std::size_t k = 0; k < predictor_.size(); ++k) {
    const auto& ends = draft.transfers[k].prediction.path_finish;
    const auto [first, last] = std::minmax_element(ends.begin(), ends.end());
    if (*last < *first * kEndsApart || predictor_.has_played_enough()) continue;
    for (std::size_t p = 0; p < draft.transfers[k].paths.size(); ++p)
      for (const double factor : {0.6, 0.8, 1.25, 1.7}) {
        JointDraft trial = draft;
        if (p >= trial.transfers[k].paths.size()) break;
        PathDraft& part = trial.transfers[k].paths[p];
        part.chunks = std::max(1.0, part.chunks * factor);
        mover_.level(trial, 2, Effort::replay);
        if (is_worthwhile(trial, draft)) draft = std::move(trial);
      }
  }
}

}  // namespace polypath::plan
