#include "plan/joint/byte_mover.h"

#include <algorithm>
#include <utility>

#include "model/tolerance.h"

namespace polypath::plan {
namespace {

constexpr double kClearlyBetter = 1 - kAlike;  // what a relief must leave of the cost

// The paths that the transfer uses, and those that it might.
std::vector<Path> targets(const Draft& own, const std::vector<Path>& possible, Effort effort) {
  std::vector<Path> paths = paths_of(own);
  if (effort == Effort::quick)
    for (const Path& path : possible)
      if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
  return paths;
}

bool share_a_resource(const Predictor& predictor, const Path& a, const Path& b) {
  const std::vector<Use> others = predictor.resources().claims(b);
  for (const Use& use : predictor.resources().claims(a))
    for (const Use& other : others)
      if (use.resource == other.resource) return true;
  return false;
}

}  // namespace

// Takes the trial if it is better.
bool ByteMover::consider(JointDraft trial, JointDraft& best, Effort effort) const {
  predictor_.predict(trial, effort);
  if (!is_worthwhile(trial, best)) return false;
  best = std::move(trial);
  return true;
}

void ByteMover::level(JointDraft& draft, int rounds, Effort effort) const {
  predictor_.predict(draft, effort);
  JointDraft trial = draft;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < predictor_.size(); ++k)
      if (trial.transfers[k].paths.size() > 1 && !predictor_.splitter(k).level(trial.transfers[k]))
        return;
    predictor_.predict(trial, effort);
    if (trial.cost < draft.cost) draft = trial;
  }
}

// Moves `part` of one transfer's message from one path to another, for each pair of them.
bool ByteMover::shift_between(JointDraft& draft, std::size_t transfer, double part,
                              Effort effort) const {
  if (predictor_.has_played_enough()) return false;
  const JointProblem& problem = predictor_.problem();
  bool any = false;
  const std::vector<Path> from = paths_of(draft.transfers[transfer]);
  for (const Path& giver : from)
    for (const Path& taker : targets(draft.transfers[transfer], problem.paths[transfer], effort)) {
      if (giver == taker) continue;
      JointDraft trial = draft;
      if (move_part(trial.transfers[transfer], transfer, giver, taker, part))
        any |= consider(std::move(trial), draft, effort);
    }
  return any;
}

bool ByteMover::move_part(Draft& own, std::size_t transfer, const Path& giver, const Path& taker,
                          double part) const {
  const auto find = [&](const Path& path) {
    return std::find_if(own.paths.begin(), own.paths.end(),
                        [&](const PathDraft& each) { return each.path == path; });
  };
  const auto from = find(giver);
  if (from == own.paths.end()) return false;
  const double moved = std::min(part, from->share);
  from->share -= moved;
  if (const auto to = find(taker); to != own.paths.end()) {
    to->share += moved;
    return true;
  }
  const JointProblem& problem = predictor_.problem();
  if (own.paths.size() >= static_cast<std::size_t>(problem.limits.max_paths)) return false;
  const Bytes bytes = share_of(problem.transfers[transfer].bytes, moved);
  own.paths.push_back({taker, moved, predictor_.splitter(transfer).chunk_count(taker, bytes), 0});
  return true;
}

bool ByteMover::shift(JointDraft& draft, double part, Effort effort) const {
  bool any = false;
  for (std::size_t k = 0; k < predictor_.size(); ++k) any |= shift_between(draft, k, part, effort);
  return any;
}

// One path of a transfer gives parts of its share to the path that is best for the set.
bool ByteMover::relieve(JointDraft& draft, std::size_t transfer, const Path& giver) const {
  JointDraft best = draft;
  for (const Path& taker : predictor_.problem().paths[transfer])
    for (const double part : {1.0, 0.3, 0.1, 0.03}) {
      JointDraft trial = draft;
      if (taker != giver && move_part(trial.transfers[transfer], transfer, giver, taker, part))
        (void)consider(std::move(trial), best, Effort::replay);
    }
  const bool better = best.cost < draft.cost * kClearlyBetter;
  if (better) draft = std::move(best);
  return better;
}

bool ByteMover::relieve_last(JointDraft& draft) const {
  std::size_t last = 0;
  for (std::size_t k = 0; k < predictor_.size(); ++k)
    if (draft.transfers[k].prediction.time > draft.transfers[last].prediction.time) last = k;
  const Draft& own = draft.transfers[last];
  const auto& ends = own.prediction.path_finish;
  const auto latest = std::max_element(ends.begin(), ends.end()) - ends.begin();
  const Path late = own.paths[static_cast<std::size_t>(latest)].path;
  if (relieve(draft, last, late)) return true;
  for (std::size_t k = 0; k < predictor_.size(); ++k)
    for (const Path& path : paths_of(draft.transfers[k]))
      if (k != last && share_a_resource(predictor_.predictor(), path, late) &&
          relieve(draft, k, path))
        return true;
  return false;
}

}  // namespace polypath::plan
