#include "plan/single/optimiser.h"

#include <algorithm>
#include <utility>

namespace polypath::plan {
namespace {

constexpr int kEqualiseRounds = 4;           // each roughly squares the relative difference of ends
constexpr std::size_t kReplayedDrafts = 5;   // quick predictions order the rest reliably
constexpr std::size_t kReplayedInTurns = 4;  // of those whose order counts
constexpr double kOutOfStep = 1.04;  // a replay this far above the quick prediction has a cause

// True if one of `drafts` uses the very paths of `other`, with any shares.
bool has_same_paths(const std::vector<Draft>& drafts, const Draft& other) {
  const auto sorted_paths_of = [](const Draft& draft) {
    std::vector<Path> paths = paths_of(draft);
    std::sort(paths.begin(), paths.end());
    return paths;
  };
  const auto paths = sorted_paths_of(other);
  return std::any_of(drafts.begin(), drafts.end(),
                     [&](const Draft& draft) { return sorted_paths_of(draft) == paths; });
}

}  // namespace

Draft Optimiser::best_subset(const std::vector<Path>& paths) const {
  const std::vector<Path> order = ranked(paths);
  Draft best{{PathDraft{paths.front(), 1, 1, 0}}, {}};
  splitter_.evaluate(best);
  const Seconds alone = best.prediction.time;
  std::vector<Draft> drafts = drafts_of(order, paths.front());
  for (Draft& promising : most_promising(drafts, kReplayedDrafts)) {
    Draft draft = replayed(std::move(promising));
    if (cost_of(draft).value < cost_of(best).value * kWorthAPath) best = std::move(draft);
  }
  if (turns_.lose_time(best, paths)) {
    std::vector<Draft> others = drafts_with_direct_last(order, paths.front());
    for (std::vector<Draft>* each : {&drafts, &others})
      for (Draft& draft : most_promising(std::move(*each), kReplayedInTurns)) {
        turns_.reorder(draft);
        draft = replayed(std::move(draft));
        if (cost_of(draft).value < cost_of(best).value * kWorthAPath) best = std::move(draft);
      }
  }
  return chunks_.with_fewer_calls(without_idlers(best), alone);
}

Draft Optimiser::polish(Draft draft) const {
  splitter_.equalise(draft, kEqualiseRounds, Effort::quick);
  chunks_.vary(draft);
  splitter_.equalise(draft, 2, Effort::quick);
  return draft;
}

Draft Optimiser::replayed(Draft draft) const {
  if (!draft.prediction.contended) return draft;
  const Seconds hoped = draft.prediction.time;
  splitter_.equalise_well(draft);
  chunks_.scale(draft);
  if (draft.prediction.time > hoped * kOutOfStep) chunks_.break_step(draft);
  return draft;
}

// The program's paths by share, then those it left out: candidates for spreading the same bytes
// over more links, which shortens each path's pipeline even where a shared resource is the limit.
std::vector<Path> Optimiser::ranked(const std::vector<Path>& paths) const {
  std::vector<Path> order;
  for (const PathDraft& part : splitter_.program_split(paths).paths) order.push_back(part.path);
  for (const Path& path : paths)
    if (std::find(order.begin(), order.end(), path) == order.end()) order.push_back(path);
  return order;
}

// Those whose quick prediction is best, and those for which it is right.
std::vector<Draft> Optimiser::most_promising(std::vector<Draft> drafts, std::size_t most) const {
  std::stable_sort(drafts.begin(), drafts.end(),
                   [](const Draft& a, const Draft& b) { return cost_of(a) < cost_of(b); });
  std::size_t replays = 0;
  std::erase_if(drafts,
                [&](const Draft& draft) { return draft.prediction.contended && ++replays > most; });
  return drafts;
}

// Leaves out, one after another, the paths without which it takes no longer.
Draft Optimiser::without_idlers(Draft best) const {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (std::size_t p = 0; p < best.paths.size() && best.paths.size() > 2; ++p) {
      Draft fewer = best;
      fewer.paths.erase(fewer.paths.begin() + static_cast<std::ptrdiff_t>(p));
      double sum = 0;
      for (const PathDraft& part : fewer.paths) sum += part.share;
      for (PathDraft& part : fewer.paths) part.share /= sum;
      splitter_.equalise_well(fewer);
      if (cost_of(fewer) * kWorthAPath > cost_of(best)) continue;
      best = std::move(fewer);
      smaller = true;
      break;
    }
  }
  return best;
}

// One polished draft for each number of paths in `order`, the program's, and the closed form's
// where the program leaves some of them out; each set of paths once. A direct hop that the driver
// stages itself may take what a staged path needs, so there the others are tried without it as
// well.
std::vector<Draft> Optimiser::drafts_of(std::vector<Path> order, const Path& direct) const {
  std::vector<Draft> drafts;
  const auto allowed = static_cast<std::size_t>(splitter_.limits().max_paths);
  const auto add = [&](const std::vector<Path>& subset) {
    const Draft program = splitter_.program_split(subset);
    if (!has_same_paths(drafts, program)) drafts.push_back(polish(program));
    if (program.paths.size() < subset.size())
      drafts.push_back(polish(splitter_.closed_form(subset)));
  };
  // Where the program is indifferent, as between the direct path and one through another GPU behind
  // the same port, its order says nothing: each path is tried alone beside the direct one as well.
  if (allowed > 1)
    for (const Path& path : order)
      if (path != direct) add({direct, path});
  const auto add_all = [&] {
    const std::size_t most = std::min(order.size(), allowed);
    for (std::size_t count = 1; count <= most; ++count)
      if (count > 1 || order.front() != direct)
        add({order.begin(), order.begin() + std::ptrdiff_t(count)});
  };
  add_all();
  const Machine& machine = splitter_.predictor().machine();
  if (machine.hop(direct.first).kind != HopKind::driver_staged) return drafts;
  std::erase(order, direct);
  add_all();
  return drafts;
}

// Where the direct copy would keep staged paths from an engine to its end: drafts of the best 1, 2,
// 3, ... of them with the direct copy last, and without it.
std::vector<Draft> Optimiser::drafts_with_direct_last(std::vector<Path> staged,
                                                      const Path& direct) const {
  std::vector<Draft> drafts;
  std::erase(staged, direct);
  const auto allowed = static_cast<std::size_t>(splitter_.limits().max_paths);
  const std::size_t most = std::min(staged.size(), allowed);
  for (std::size_t count = 1; count <= most; ++count) {
    std::vector<Path> subset(staged.begin(), staged.begin() + std::ptrdiff_t(count));
    Draft without = splitter_.program_split(subset);
    if (!turns_.hold_up_others(without, direct)) continue;
    drafts.push_back(polish(std::move(without)));
    if (count == allowed) continue;
    subset.insert(subset.begin(), direct);
    drafts.push_back(polish(with_last(splitter_.program_split(subset), direct)));
  }
  return drafts;
}

}  // namespace polypath::plan
