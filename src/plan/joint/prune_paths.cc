// Takes from transfers: parts of a path's share, for another path; paths, and being split at all,
// where that costs nothing or mends harm.

#include <algorithm>
#include <optional>
#include <utility>

#include "model/tolerance.h"
#include "plan/joint/joint_optimiser.h"

namespace polypath {
namespace {

constexpr double kNothingLost = 1 + kAlike;    // what fewer paths may cost more
constexpr double kClearlyLessHarm = 0.8;       // what a repair must leave of the harm
constexpr double kClearlyBetter = 1 - kAlike;  // what a relief must leave of the cost

// The paths but one, which carry its share among them.
std::vector<PathDraft> without(std::vector<PathDraft> paths, std::size_t one) {
  const double rest = 1 - paths[one].share;
  paths.erase(paths.begin() + static_cast<std::ptrdiff_t>(one));
  for (PathDraft& part : paths) part.share /= std::max(rest, 1e-9);
  return paths;
}

bool share_a_resource(const Predictor& predictor, const Path& a, const Path& b) {
  const std::vector<Use> others = predictor.resources().claims(b);
  for (const Use& use : predictor.resources().claims(a))
    for (const Use& other : others)
      if (use.resource == other.resource) return true;
  return false;
}

std::vector<PathDraft> with_larger_chunks(std::vector<PathDraft> paths) {
  for (PathDraft& part : paths) part.chunks = std::max(1.0, part.chunks / 2);
  return paths;
}

}  // namespace

// One path of a transfer gives parts of its share to the path that is best for the set.
bool JointOptimiser::relieve(JointDraft& draft, std::size_t transfer, const Path& giver) const {
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

// The last transfer's latest path gives; where that is no help, paths of others that take of what
// it needs.
bool JointOptimiser::relieve_last(JointDraft& draft) const {
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

// Until nothing more can be given up.
void JointOptimiser::release(JointDraft& draft) const {
  while (release_one(draft)) {
  }
}

// A transfer becomes native, or a path is left out, where that costs nothing.
bool JointOptimiser::release_one(JointDraft& draft) const {
  const auto attempt = [&](std::size_t k, const std::vector<PathDraft>& paths) {
    JointDraft trial = draft;
    trial.transfers[k].paths = paths;
    predictor_.predict(trial, Effort::replay);
    if (paths.size() > 1) level(trial, 1, Effort::replay);
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
      if (!path.staged() || !move_part(trial.transfers[k], k, paths.front(), path, 1)) continue;
      level(trial, 1, Effort::replay);
      const bool harmless = trial.regret <= kAsGoodAsNatively;
      if (harmless && sum_of_ends(trial) < sum_of_ends(best)) best = std::move(trial);
    }
  }
  return best;
}

// Steps back until no transfer ends later than natively, or no step helps.
void JointOptimiser::repair(JointDraft& draft) const {
  while (draft.regret > kAsGoodAsNatively && repair_once(draft)) {
  }
}

// Of the single steps back that lessen the harm clearly, the one after which the set is over first.
bool JointOptimiser::repair_once(JointDraft& draft) const {
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

}  // namespace polypath
