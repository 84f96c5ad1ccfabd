#include "plan/single/rebalanced.h"

#include <algorithm>

namespace polypath::plan {
namespace {

Draft draft_of(const Plan& plan) {
  Draft draft;
  for (const PathShape& part : plan.shape.paths) {
    draft.paths.push_back({.path = part.path,
                           .share = part.bytes().real() / plan.bytes.real(),
                           .chunks = static_cast<double>(part.chunks.size())});
  }
  return draft;
}

}  // namespace

std::optional<LevelledShares> rebalance_shares(const Planner& planner, const Plan& plan,
                                               std::span<const Seconds> measured, double damping) {
  const bool usable =
      measured.size() == plan.shape.paths.size() && measured.size() > 1 &&
      std::all_of(measured.begin(), measured.end(), [](Seconds t) { return t > Seconds{}; });
  if (!usable) return std::nullopt;
  const Settings& settings = planner.settings();
  const DraftLimits limits{.chunks = {settings.min_chunk, settings.staging_slot},
                           .slots = settings.staging_slots,
                           .max_paths = settings.max_paths};
  const Splitter splitter(planner.predictor(), limits, plan.executor(), plan.bytes);
  const Draft before = draft_of(plan);
  Draft draft = before;
  draft.prediction.path_finish.assign(measured.begin(), measured.end());
  const Seconds last = *std::max_element(measured.begin(), measured.end());
  const std::optional<Seconds> end = splitter.level(draft);
  if (!end) return std::nullopt;
  double sum = 0;
  for (std::size_t p = 0; p < draft.paths.size(); ++p) {
    double& share = draft.paths[p].share;
    share = before.paths[p].share + damping * (share - before.paths[p].share);
    sum += share;
  }
  for (PathDraft& part : draft.paths) part.share /= sum;
  splitter.drop_idle(draft);
  LevelledShares rebalanced{.shares = {}, .expected = *end, .before = last};
  for (const PathDraft& part : draft.paths)
    rebalanced.shares[name_of(planner.machine(), part.path)] = part.share;
  return rebalanced;
}

}  // namespace polypath::plan
