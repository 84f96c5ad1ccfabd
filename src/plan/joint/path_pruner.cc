#include "plan/joint/path_pruner.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "model/tolerance.h"

namespace polypath::plan {
namespace {

constexpr double kNothingLost = 1 + kAlike;  // what fewer paths may cost more
constexpr double kClearlyLessHarm = 0.8;     // what a repair must leave of the harm

// The paths but one, which carry its share among them.
std::vector<PathDraft> without(std::vector<PathDraft> paths, std::size_t one) {
  const double rest = 1 - paths[one].share;
  paths.erase(paths.begin() + static_cast<std::ptrdiff_t>(one));
  for (PathDraft& part : paths) part.share /= std::max(rest, 1e-9);
  return paths;
}

std::vector<PathDraft> with_larger_chunks(std::vector<PathDraft> paths) {
  for (PathDraft& part : paths) part.chunks = std::max(1.0, part.chunks / 2);
  return paths;
}

}  // namespace

void PathPruner::release(JointDraft& draft) const {
  while (release_one(draft)) {
  }
}

// A transfer becomes native, or a path is left out, where that costs nothing.
bool PathPruner::release_one(JointDraft& draft) const {
  const auto attempt = [&](std::size_t k, const std::vector<PathDraft>& paths) {
    JointDraft trial = draft;
    trial.transfers[k].paths = paths;
    predictor_.predict(trial, Effort::replay);
    if (paths.size() > 1) mover_.level(trial, 1, Effort::replay);
    if (trial.cost > draft.cost * kNothingLost) return false;
    draft = std::move(trial);
    return true;
  };
  for (std::size_t k = 0; k < predictor_.size(); ++k) {
    if (is_native(draft.transfers[k])) continue;
    const Path& direct = predictor_.problem().paths[k].front();
    if (attempt(k, {PathDraft{direct, 1, 1, 0}})) return true;
    for (std::size_t p = 1; p < draft.transfers[k].paths.size(); ++p)
      if (attempt(k, without(draft.transfers[k].paths, p))) return true;
  }
  return false;
}

void PathPruner::repair(JointDraft& draft) const {
  while (draft.regret > kAsGoodAsNatively && repair_once(draft)) {
  }
}

// Of the single steps back that lessen the harm clearly, the one after which the set is over first.
bool PathPruner::repair_once(JointDraft& draft) const {
  std::optional<JointDraft> best;
  for (std::size_t k = 0; k < predictor_.size(); ++k) {
    const std::vector<PathDraft>& paths = draft.transfers[k].paths;
    if (is_native(draft.transfers[k])) continue;
    const auto attempt = [&](std::vector<PathDraft> fewer) {
      JointDraft trial = draft;
      trial.transfers[k].paths = std::move(fewer);
      predictor_.predict(trial, Effort::replay);
      if (trial.harm > draft.harm * kClearlyLessHarm) return;
      if (!best || trial.last < best->last) best = std::move(trial);
    };
    attempt({PathDraft{predictor_.problem().paths[k].front(), 1, 1, 0}});
    for (std::size_t p = 0; p < paths.size() && paths.size() > 1; ++p) attempt(without(paths, p));
    attempt(with_larger_chunks(paths));
  }
  if (!best) return false;
  draft = *std::move(best);
  return true;
}

}  // namespace polypath::plan
