#include "plan/single/chunk_search.h"

#include <algorithm>
#include <utility>

namespace polypath::plan {
namespace {

// The most that fewer calls may cost: of the time, and of the gain over the direct path. The calls
// then take 0.91 of their time (docs/model.md).
constexpr double kForFewerCalls = 0.003;
constexpr double kOfTheGain = 0.02;

}  // namespace

void ChunkSearch::vary(Draft& draft) const {
  static constexpr double kFactors[] = {0.5, 0.71, 0.84, 1.19, 1.41, 2.0};
  for (std::size_t p = 0; p < draft.paths.size(); ++p) {
    if (!draft.paths[p].path.staged()) continue;
    Draft best = draft;
    const auto consider = [&](double chunks, int taper) {
      Draft trial = draft;
      trial.paths[p].chunks = std::max(1.0, chunks);
      trial.paths[p].taper = taper;
      splitter_.predict(trial, Effort::quick);
      if (trial.paths.size() != draft.paths.size()) return;
      splitter_.equalise(trial, 1, Effort::quick);
      if (cost_of(trial) < cost_of(best)) best = std::move(trial);
    };
    for (const double factor : kFactors) consider(draft.paths[p].chunks * factor, 0);
    for (const int taper : {1, 2}) consider(best.paths[p].chunks, taper);
    if (best.paths.size() == draft.paths.size()) draft = best;
  }
}

void ChunkSearch::scale(Draft& draft) const {
  const auto consider = [&](double factor, int taper) {
    Draft trial = draft;
    for (PathDraft& part : trial.paths) {
      part.chunks = std::max(1.0, part.chunks * factor);
      if (taper >= 0) part.taper = taper;
    }
    splitter_.equalise(trial, 2, Effort::replay);
    if (cost_of(trial) < cost_of(draft)) draft = std::move(trial);
  };
  for (const int taper : {0, 1, 2}) consider(1, taper);
  for (const double factor : {0.7, 1.4}) consider(factor, -1);
}

void ChunkSearch::break_step(Draft& draft) const {
  for (std::size_t p = 0; p < draft.paths.size(); ++p) {
    if (!draft.paths[p].path.staged()) continue;
    Draft best = draft;
    for (const double factor : {0.6, 0.8, 1.25, 1.7}) {
      Draft trial = draft;
      trial.paths[p].chunks = std::max(1.0, trial.paths[p].chunks * factor);
      splitter_.equalise(trial, 1, Effort::replay);
      if (cost_of(trial) < cost_of(best)) best = trial;
    }
    if (best.paths.size() == draft.paths.size()) draft = best;
  }
}

Draft ChunkSearch::with_fewer_calls(Draft best, Seconds direct_alone) const {
  const Seconds time = best.prediction.time;
  const Seconds most = time + std::min(time * kForFewerCalls, (direct_alone - time) * kOfTheGain);
  while (enlarge(best, most)) {
  }
  return best;
}

// By the largest step that may be taken.
bool ChunkSearch::enlarge(Draft& best, Seconds most) const {
  for (const double factor : {0.6, 0.8}) {
    Draft trial = best;
    for (PathDraft& part : trial.paths) part.chunks = std::max(1.0, part.chunks * factor);
    splitter_.equalise(trial, 2, Effort::replay);
    if (trial.paths.size() == best.paths.size() && trial.prediction.time <= most &&
        trial.prediction.call < best.prediction.call) {
      best = std::move(trial);
      return true;
    }
  }
  return false;
}

}  // namespace polypath::plan
