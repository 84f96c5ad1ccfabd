// Planning beside other transfers.

#include <algorithm>

#include "plan/load.h"
#include "plan/single/planner.h"
#include "plan/single/planner_request.h"

namespace polypath {
namespace {

constexpr double kClearlyLessRegret = 0.98;

}  // namespace

Load Planner::load_of(const ConcurrentTransfers& concurrent) const {
  Load load;
  for (const ConcurrentTransfer& each : concurrent) {
    const auto hop = machine().find_hop(each.source, each.destination);
    if (each.plan) add_rates(predictor_.resources(), each.plan->shape, load);
    else if (hop) add_rates(predictor_.resources(), direct_copy({*hop, {}}, each.bytes), load);
  }
  return load;
}

// The fastest plan with regret 1 for all transfers, itself included; while the next transfers are
// unknown, the plan with the least regret, if that is clearly less than the native copy's.
// Concurrent transfers change too often for graphs to be launched again.
Draft Planner::choose_beside(Request& request, Executor& executor) {
  const Path& direct = request.paths.front();
  const Together together(predictor_beside(request), *request.concurrent, direct, request.bytes,
                          request.options->both_ways, settings_.staging_slots);
  const auto natively = together.of(direct_copy(direct, request.bytes));
  executor = Executor::native;
  Draft native{{PathDraft{direct, 1, 1, 0}}, natively.own};
  const bool chained = takes_turns_in_a_chain(machine(), *request.concurrent, direct);
  if (chained || !may_split(request) || !allows(request.options->executor, Executor::stream))
    return native;
  std::optional<Draft> split = split_beside(request, together, natively);
  if (!split) return native;
  executor = Executor::stream;
  return *std::move(split);
}

// Over several paths, if any draft is worth it.
std::optional<Draft> Planner::split_beside(Request& request, const Together& together,
                                           const Together::Outcome& natively) {
  const bool repairs = request.options->followers_unknown;
  double least = repairs ? std::max(natively.regret, kAsGoodAsNatively) : kAsGoodAsNatively;
  Seconds to_beat = to_beat_natively(request, natively.own.time);
  const Optimiser exact = optimiser(request, Executor::stream, request.bytes);
  std::optional<Draft> best;
  for (Draft& draft : drafts_beside(request)) {
    const auto outcome = together.of(exact.shape_of(draft));
    const double regret = std::max(outcome.regret, kAsGoodAsNatively);
    if (regret > least) note_harm(request, draft);
    // One thread that issues them all again and again must keep up.
    const Seconds all_calls = outcome.own.call * together.issued_by_one_thread();
    const bool gains = std::max(outcome.own.time, all_calls) < to_beat;
    if (regret > least || !(repairs ? regret < least * kClearlyLessRegret : gains)) continue;
    least = regret;
    to_beat = outcome.own.time - machine().driver.least_gain;
    draft.prediction = outcome.own;
    best = std::move(draft);
  }
  return best;
}

// The drafts for the transfer alone, and over paths that others leave room for.
std::vector<Draft> Planner::drafts_beside(const Request& request) {
  Request alone = request;
  alone.load.clear();
  std::vector<Draft> drafts{automatic(alone, Executor::stream)};
  if (!request.load.empty()) drafts.push_back(automatic(request, Executor::stream));
  std::erase_if(drafts, [](const Draft& draft) {
    return draft.paths.size() == 1 && !draft.paths.front().path.staged();
  });
  return drafts;
}

void Planner::note_harm(Request& request, const Draft& draft) {
  for (const PathDraft& part : draft.paths)
    if (part.path.staged()) request.harmful.push_back(part.path);
}

// Why a path that others leave room for is not taken beside them.
std::string Planner::not_beside(const Request& request, const Path& path) const {
  const auto& harmful = request.harmful;
  if (std::find(harmful.begin(), harmful.end(), path) != harmful.end())
    return "with it a transfer in flight or expected, or this one, would end later than natively";
  return "it gains nothing beside the transfers in flight or expected";
}

}  // namespace polypath
