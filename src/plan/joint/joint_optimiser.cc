#include "plan/joint/joint_optimiser.h"

#include <algorithm>
#include <utility>

#include "model/joint_shares.h"
#include "plan/joint/joint_starts.h"
#include "plan/single/engine_turns.h"

namespace polypath::plan {
namespace {

// How long is searched, and how finely: found by trial on synthetic machines.
// tests/plan/joint_search.test.cc compares their results with a longer search.
constexpr int kLevelRounds = 4, kFewRounds = 2;
constexpr double kLittle = 0.05;  // of a message
constexpr std::size_t kShiftedDrafts = 4;
constexpr std::size_t kReplayedJointDrafts = 3;  // quick predictions order the rest reliably
constexpr int kReliefs = 24;                     // each must clearly help
constexpr int kPolishRounds = 4;
constexpr double kWorthAnotherRound = 0.99;
constexpr double kFarFromBound = 1.1;  // of the flow bound
constexpr double kSameCost = 1e-5;

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

JointDraft JointOptimiser::levelled_shares() const {
  JointDraft draft = JointStarts(predictor_).draft({.least_part = kLittle});
  mover_.level(draft, kFewRounds, Effort::quick);
  return draft;
}

// By the quick prediction; the most promising in order of cost.
std::vector<JointDraft> JointOptimiser::improved_quickly(std::vector<JointDraft> drafts) const {
  for (JointDraft& draft : drafts) {
    mover_.level(draft, kLevelRounds, Effort::quick);
    chunks_.rescale(draft, Effort::quick);
  }
  keep_best(drafts, kShiftedDrafts);
  for (JointDraft& draft : drafts) {
    for (const double part : {0.15, 0.05, 0.02}) (void)mover_.shift(draft, part, Effort::quick);
    mover_.level(draft, 2, Effort::quick);
  }
  keep_best(drafts, kReplayedJointDrafts);
  return drafts;
}

// Made true to the play of every copy, and harmless if that can be had.
JointDraft JointOptimiser::replayed(JointDraft draft) const {
  mover_.level(draft, kLevelRounds, Effort::replay);
  chunks_.rescale(draft, Effort::replay);
  pruner_.repair(draft);
  return draft;
}

void JointOptimiser::polish(JointDraft& draft) const {
  for (int step = 0;
       step < kReliefs && !predictor_.has_played_enough() && mover_.relieve_last(draft); ++step) {
  }
  pruner_.release(draft);
  for (const double part : {0.04, 0.015}) (void)mover_.shift(draft, part, Effort::replay);
  chunks_.rescale(draft, Effort::replay);
  chunks_.rescale_each(draft);
  chunks_.break_steps(draft);
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
        mover_.level(trial, kLevelRounds, Effort::replay);
        if (!is_worthwhile(trial, draft)) continue;
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
  pruner_.release(draft);
  pruner_.repair(draft);
  return draft;
}

// From native copies, one transfer after another takes the whole way that is best for all ends, as
// long as the regret of every transfer stays 1: it may take several of them to make the last one
// earlier.
JointDraft JointOptimiser::one_by_one() const {
  const auto sum_of_ends = [](const JointDraft& draft) {
    Seconds sum;
    for (const Draft& each : draft.transfers) sum += each.prediction.time;
    return sum;
  };
  JointDraft best = predictor_.natively();
  for (std::size_t k = 0; k < predictor_.size(); ++k) {
    const std::vector<Path>& paths = predictor_.problem().paths[k];
    JointDraft before = best;
    for (const Path& path : paths) {
      JointDraft trial = before;
      if (!path.staged() || !mover_.move_part(trial.transfers[k], k, paths.front(), path, 1))
        continue;
      mover_.level(trial, 1, Effort::replay);
      const bool harmless = trial.regret <= kAsGoodAsNatively;
      if (harmless && sum_of_ends(trial) < sum_of_ends(best)) best = std::move(trial);
    }
  }
  return best;
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

}  // namespace polypath::plan
