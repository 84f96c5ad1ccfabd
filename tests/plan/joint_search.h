#pragma once
// What joint plans are compared with: drafts that are all tried, or found by a random search, each
// played copy by copy.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "plan/joint_planning.h"
#include "support/random.h"

namespace polypath::test {

using Drafts = std::vector<Draft>;  ///< one per transfer

class JointSearch {
 public:
  /// `most_calls`: what one thread may spend in calls.
  JointSearch(const Planner& planner, const std::vector<JointTransfer>& set, Issuers issuers,
              Executor executor, Seconds most_calls)
      : predictor_(planner.predictor(), problem(planner, set, issuers, executor)),
        most_calls_(issuers == Issuers::one_thread ? most_calls : Seconds::infinity()) {}

  /// The end of the last transfer; infinite if one is later than natively, or the calls take
  /// too long.
  [[nodiscard]] Seconds last_of(const Drafts& drafts) const {
    JointDraft draft{.transfers = drafts};
    predictor_.predict(draft, Effort::replay);
    const bool allowed = draft.regret <= kAsGoodAsNatively && draft.calls < most_calls_;
    return allowed || !is_split(draft) ? draft.last : Seconds::infinity();
  }

  /// Everything directly.
  [[nodiscard]] Drafts natively() const {
    Drafts drafts;
    for (const auto& paths : predictor_.problem().paths)
      drafts.push_back({{PathDraft{paths.front(), 1, 1, 0}}, {}});
    return drafts;
  }

  /// The best of `tries` random changes, each kept if it is no worse.
  [[nodiscard]] Seconds climb(Drafts best, int tries, Random& random) const {
    Seconds least = last_of(best);
    for (int i = 0; i < tries; ++i) {
      Drafts trial = best;
      change(trial, random);
      const Seconds last = last_of(trial);
      if (last <= least) least = last, best = std::move(trial);
    }
    return least;
  }

  [[nodiscard]] const JointPredictor& predictor() const { return predictor_; }

 private:
  static JointProblem problem(const Planner& planner, const std::vector<JointTransfer>& set,
                              Issuers issuers, Executor executor) {
    const Settings& settings = planner.settings();
    JointProblem problem{.transfers = set,
                         .paths = {},
                         .issuers = issuers,
                         .executor = executor,
                         .limits = {.chunks = {settings.min_chunk, settings.staging_slot},
                                    .slots = settings.staging_slots,
                                    .max_paths = settings.max_paths}};
    for (const JointTransfer& each : set) {
      problem.paths.push_back(planner.usable_paths(each.source, each.destination));
      if (settings.min_message && each.bytes < *settings.min_message)
        problem.paths.back().resize(1);
    }
    return problem;
  }

  // A random number from 1/most to most, small changes as likely as large ones.
  static double factor(Random& random, double most) {
    return std::pow(most, 0.01 * random.integer(-100, 100));
  }

  void change(Drafts& drafts, Random& random) const {
    const std::size_t k = random.index(drafts.size());
    if (random.chance(65)) return move(drafts[k], predictor_.problem().paths[k], k, random);
    const double scale = factor(random, 2);
    const bool all = random.chance(40);
    for (std::size_t t = 0; t < drafts.size(); ++t)
      for (PathDraft& part : drafts[t].paths)
        if (all || t == k) part.chunks = std::max(1.0, part.chunks * scale);
  }

  void move(Draft& draft, const std::vector<Path>& paths, std::size_t transfer,
            Random& random) const {
    PathDraft& giver = draft.paths[random.index(draft.paths.size())];
    const Path taker = random.pick(paths);
    if (giver.path == taker) return;
    const double wanted = random.chance(5) ? 1 : 0.03 * factor(random, 10);
    const double moved = std::min(giver.share, wanted);
    giver.share -= moved;
    for (PathDraft& part : draft.paths)
      if (part.path == taker) return void(part.share += moved);
    const double bytes = predictor_.problem().transfers[transfer].bytes.real() * moved;
    draft.paths.push_back(
        {taker, moved,
         predictor_.splitter(transfer).chunk_count(taker, {static_cast<std::uint64_t>(bytes)}), 0});
  }

  JointPredictor predictor_;
  Seconds most_calls_;
};

/// A plan's shapes as drafts to start a search from.
inline Drafts drafts_of(const JointPlan& joint) {
  Drafts drafts;
  for (const PlanPointer& plan : joint.plans) {
    Draft& draft = drafts.emplace_back();
    for (const PathDecision& part : plan->decisions)
      if (part.included)
        draft.paths.push_back({part.path, part.share, static_cast<double>(part.chunks), 0});
  }
  return drafts;
}

}  // namespace polypath::test
