#include "plan/single/plans_beside.h"

#include <algorithm>
#include <utility>

namespace polypath::plan {
namespace {

constexpr double kClearlyLessRegret = 0.98;

void note_harm(PlannerRequest& request, const Draft& draft) {
  for (const PathDraft& part : draft.paths)
    if (part.path.staged()) request.harmful.push_back(part.path);
}

}  // namespace

// Concurrent transfers change too often for graphs to be launched again.
Draft PlansBeside::choose(PlannerRequest& request, Executor& executor) {
  const Path& direct = request.paths.front();
  const Together together(model_.predictor_beside(request), *request.concurrent, direct,
                          request.bytes, request.options->both_ways,
                          model_.settings().staging_slots);
  const auto natively = together.of(direct_copy(direct, request.bytes));
  executor = Executor::native;
  Draft native{{PathDraft{direct, 1, 1, 0}}, natively.own};
  const bool chained = takes_turns_in_a_chain(model_.machine(), *request.concurrent, direct);
  if (chained || !may_split(request) || !allows(request.options->executor, Executor::stream))
    return native;
  std::optional<Draft> split = this->split(request, together, natively);
  if (!split) return native;
  executor = Executor::stream;
  return *std::move(split);
}

// Over several paths, if any draft is worth it.
std::optional<Draft> PlansBeside::split(PlannerRequest& request, const Together& together,
                                        const Together::Outcome& natively) {
  const bool repairs = request.options->followers_unknown;
  double least = repairs ? std::max(natively.regret, kAsGoodAsNatively) : kAsGoodAsNatively;
  Seconds to_beat = model_.to_beat(request, natively.own.time);
  const Splitter exact = model_.splitter(request, Executor::stream, request.bytes);
  std::optional<Draft> best;
  for (Draft& draft : drafts(request)) {
    const auto outcome = together.of(exact.shape_of(draft));
    const double regret = std::max(outcome.regret, kAsGoodAsNatively);
    if (regret > least) note_harm(request, draft);
    // One thread that issues them all again and again must keep up.
    const Seconds all_calls = outcome.own.call * together.issued_by_one_thread();
    const bool gains = std::max(outcome.own.time, all_calls) < to_beat;
    if (regret > least || !(repairs ? regret < least * kClearlyLessRegret : gains)) continue;
    least = regret;
    to_beat = outcome.own.time - model_.machine().driver.least_gain;
    draft.prediction = outcome.own;
    best = std::move(draft);
  }
  return best;
}

// The drafts for the transfer alone, and over paths that others leave room for.
std::vector<Draft> PlansBeside::drafts(const PlannerRequest& request) {
  PlannerRequest alone = request;
  alone.load.clear();
  std::vector<Draft> drafts{recipes_.automatic(alone, Executor::stream)};
  if (!request.load.empty()) drafts.push_back(recipes_.automatic(request, Executor::stream));
  std::erase_if(drafts, [](const Draft& draft) {
    return draft.paths.size() == 1 && !draft.paths.front().path.staged();
  });
  return drafts;
}

std::string why_not_beside(const PlannerRequest& request, const Path& path) {
  const auto& harmful = request.harmful;
  if (std::find(harmful.begin(), harmful.end(), path) != harmful.end())
    return "with it a transfer in flight or expected, or this one, would end later than natively";
  return "it gains nothing beside the transfers in flight or expected";
}

}  // namespace polypath::plan
