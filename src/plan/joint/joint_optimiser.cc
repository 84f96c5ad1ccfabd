#include "plan/joint/joint_optimiser.h"

#include <algorithm>
#include <utility>

#include "model/joint_shares.h"
#include "model/tolerance.h"
#include "plan/single/engine_turns.h"

namespace polypath {
namespace {

// How long is searched, and how finely: found by trial on synthetic machines.
// tests/plan/joint_search.test.cc compares their results with a longer search.
constexpr int kLevelRounds = 4, kFewRounds = 2;
constexpr double kLittle = 0.05;  // of a message
constexpr std::size_t kShiftedDrafts = 4;
constexpr std::size_t kReplayedJointDrafts = 3;  // quick predictions order the rest reliably
constexpr int kReliefs = 24;                     // each must clearly help
constexpr int kPolishRounds = 4;
constexpr double kEndsApart = 1.1;  // ends of one transfer's paths
constexpr double kWorthAnotherRound = 0.99;
constexpr double kFarFromBound = 1.1;  // of the flow bound
// What a further try must leave of the cost: a quarter of what counts, because small steps add up.
// With all of it one set of mist took 1.24 times as long (tests/plan/plan_times).
constexpr double kWorthwhile = 1 - kAlike / 4;
constexpr double kSameCost = 1e-5;

// The paths that the transfer uses, and those that it might.
std::vector<Path> targets(const Draft& own, const std::vector<Path>& possible, Effort effort) {
  std::vector<Path> paths = paths_of(own);
  if (effort == Effort::quick)
    for (const Path& path : possible)
      if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
  return paths;
}

// In order of cost. Drafts that cost the same are the same, found twice.
void keep_best(std::vector<JointDraft>& drafts, std::size_t most) {
  std::stable_sort(drafts.begin(), drafts.end(), is_cheaper);
  const auto same = [](const JointDraft& a, const JointDraft& b) {
    return b.cost < a.cost * (1 + kSameCost);
  };
  drafts.erase(std::unique(drafts.begin(), drafts.end(), same), drafts.end());
  if (drafts.size() > most) drafts.resize(most);
}

}  // namespace

// Takes the trial if it is better.
bool JointOptimiser::consider(JointDraft trial, JointDraft& best, Effort effort) const {
  predictor_.predict(trial, effort);
  if (trial.cost >= best.cost * kWorthwhile) return false;
  best = std::move(trial);
  return true;
}

void JointOptimiser::level(JointDraft& draft, int rounds, Effort effort) const {
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
bool JointOptimiser::shift_between(JointDraft& draft, std::size_t transfer, double part,
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

// False if there is nothing to move, or no room for another path.
bool JointOptimiser::move_part(Draft& own, std::size_t transfer, const Path& giver,
                               const Path& taker, double part) const {
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

bool JointOptimiser::shift_once(JointDraft& draft, double part, Effort effort) const {
  bool any = false;
  for (std::size_t k = 0; k < predictor_.size(); ++k) any |= shift_between(draft, k, part, effort);
  return any;
}

JointDraft JointOptimiser::levelled_shares() const {
  JointDraft draft = program_draft({.least_part = kLittle});
  level(draft, kFewRounds, Effort::quick);
  return draft;
}

// By the quick prediction; the most promising in order of cost.
std::vector<JointDraft> JointOptimiser::improved_quickly(std::vector<JointDraft> drafts) const {
  for (JointDraft& draft : drafts) {
    level(draft, kLevelRounds, Effort::quick);
    rescale(draft, Effort::quick);
  }
  keep_best(drafts, kShiftedDrafts);
  for (JointDraft& draft : drafts) {
    for (const double part : {0.15, 0.05, 0.02}) (void)shift_once(draft, part, Effort::quick);
    level(draft, 2, Effort::quick);
  }
  keep_best(drafts, kReplayedJointDrafts);
  return drafts;
}

// Other chunk counts for the transfers from `first` on, `count` of them; `taper` if it is not
// negative.
bool JointOptimiser::scale_chunks(JointDraft& draft, std::size_t first, std::size_t count,
                                  double factor, int taper, Effort effort) const {
  if (predictor_.has_played_enough()) return false;
  JointDraft trial = draft;
  for (std::size_t k = first; k < first + count; ++k)
    for (PathDraft& part : trial.transfers[k].paths) {
      part.chunks = std::max(1.0, part.chunks * factor);
      if (taper >= 0) part.taper = taper;
    }
  level(trial, 1, effort);
  if (trial.cost >= draft.cost * kWorthwhile) return false;
  draft = std::move(trial);
  return true;
}

// Larger and smaller chunks everywhere, and smaller first or last ones.
void JointOptimiser::rescale(JointDraft& draft, Effort effort) const {
  const std::size_t all = predictor_.size();
  for (const double factor : {0.6, 1.5})
    while (scale_chunks(draft, 0, all, factor, -1, effort)) {
    }
  for (const int taper : {1, 2}) (void)scale_chunks(draft, 0, all, 1, taper, effort);
}

// The same for each transfer: the one that is issued first keeps the others waiting.
void JointOptimiser::rescale_each(JointDraft& draft) const {
  for (std::size_t k = 0; k < predictor_.size(); ++k)
    for (const double factor : {0.6, 1.5})
      if (!is_native(draft.transfers[k]))
        while (scale_chunks(draft, k, 1, factor, -1, Effort::replay)) {
        }
}

// Made true to the play of every copy, and harmless if that can be had.
JointDraft JointOptimiser::replayed(JointDraft draft) const {
  level(draft, kLevelRounds, Effort::replay);
  rescale(draft, Effort::replay);
  repair(draft);
  return draft;
}

void JointOptimiser::polish(JointDraft& draft) const {
  for (int step = 0; step < kReliefs && !predictor_.has_played_enough() && relieve_last(draft);
       ++step) {
  }
  release(draft);
  for (const double part : {0.04, 0.015}) (void)shift_once(draft, part, Effort::replay);
  rescale(draft, Effort::replay);
  rescale_each(draft);
  break_steps(draft);
}

// Copies that take turns at an engine can fall into step, so that one path of a transfer waits for
// another and no move of bytes makes them end together. Another chunk count breaks the step.
void JointOptimiser::break_steps(JointDraft& draft) const {
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
        level(trial, 2, Effort::replay);
        if (trial.cost < draft.cost * kWorthwhile) draft = std::move(trial);
      }
  }
}

// Copies that take turns at an engine do so in the order of issue, and two transfers whose paths
// take turns at the same hosts do better in opposite orders.
bool JointOptimiser::reorder(JointDraft& draft) const {
  bool any = false;
  for (std::size_t k = 0; k < predictor_.size(); ++k) {
    if (draft.transfers[k].paths.size() < 2 ||
        !EngineTurns(predictor_.splitter(k)).are_taken(draft.transfers[k]))
      continue;
    for (const Draft& other : other_orders(draft.transfers[k]))
      for (const double factor : {1.0, 0.4}) {
        JointDraft trial = draft;
        trial.transfers[k] = other;
        for (Draft& own : trial.transfers)
          for (PathDraft& part : own.paths) part.chunks = std::max(1.0, part.chunks * factor);
        level(trial, kLevelRounds, Effort::replay);
        if (trial.cost >= draft.cost * kWorthwhile) continue;
        draft = std::move(trial);
        any = true;
      }
  }
  return any;
}

// Again and again as long as that clearly helps.
JointDraft JointOptimiser::finished(JointDraft draft) const {
  for (int round = 0; round < kPolishRounds; ++round) {
    const double before = draft.cost;
    polish(draft);
    if (draft.cost > before * kWorthAnotherRound) break;
  }
  release(draft);
  repair(draft);
  return draft;
}

JointDraft JointOptimiser::best(std::vector<JointDraft> drafts) const {
  drafts = improved_quickly(std::move(drafts));
  for (JointDraft& draft : drafts) draft = replayed(std::move(draft));
  const JointDraft natively = predictor_.natively();
  drafts.push_back(natively);
  std::erase_if(drafts, [](const JointDraft& draft) { return draft.regret > kAsGoodAsNatively; });
  // In another order of issue than the one asked for, native copies may harm one of them as well.
  if (drafts.empty()) drafts.push_back(natively);
  keep_best(drafts, 1);
  JointDraft best = finished(drafts.front());
  // Opposite orders need both to begin at the same time: those that queue drift apart.
  JointDraft reordered = drafts.front();
  if (!predictor_.problem().queues && reorder(reordered))
    best = std::min(best, finished(reordered), is_cheaper);
  // Where harm has cost much, it may be easier to start from drafts that harm no transfer.
  if (best.last > bound() * kFarFromBound) {
    if (is_split(drafts.front())) best = std::min(best, finished(natively), is_cheaper);
    const JointDraft one_by_one = this->one_by_one();
    if (is_split(one_by_one)) best = std::min(best, finished(one_by_one), is_cheaper);
  }
  return best;
}

Seconds JointOptimiser::bound() const {
  std::vector<FlowDemand> demands;
  for (std::size_t k = 0; k < predictor_.size(); ++k)
    demands.push_back({predictor_.problem().paths[k], predictor_.problem().transfers[k].bytes});
  const Predictor& predictor = predictor_.predictor();
  return flow_bound(predictor.machine(), predictor.resources(), demands);
}

}  // namespace polypath
