#pragma once
// Why each path is in a plan or out of it, in one sentence with its numbers.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/settings.h"
#include "plan/optimiser.h"
#include "plan/plan.h"

namespace polypath {

/// The paths that `numbers` names ("direct", "gpu2", "host"), with their numbers, the direct one
/// first and then in the machine's order. Error (invalid_argument) for a name that is no path
/// between the two places lists those that are.
std::vector<std::pair<Path, double>> named_paths(const Machine& machine, PlaceId source,
                                                 PlaceId destination,
                                                 const std::map<std::string, double>& numbers);

/// Writes the decisions of one plan; `least_gain` is what it had to gain over a native copy.
class Explainer {
 public:
  Explainer(const Predictor& predictor, const Optimiser& optimiser, const Settings& settings,
            const Plan& plan, Seconds least_gain)
      : predictor_(predictor),
        optimiser_(optimiser),
        settings_(settings),
        plan_(plan),
        least_gain_(least_gain) {}

  /// `barred` says why the path was no candidate; empty if it was one.
  [[nodiscard]] PathDecision decide(const Path& path, const Draft& chosen,
                                    const std::string& barred, bool forced) const;

 private:
  [[nodiscard]] std::string reason_in(const PathDecision& decision, bool forced) const;
  [[nodiscard]] std::string reason_out(const PathDecision& decision, const Draft& chosen,
                                       const std::string& barred, bool forced) const;
  [[nodiscard]] std::string contention(const Path& path, const Draft& chosen) const;
  [[nodiscard]] Seconds time_with(const Path& path, const Draft& chosen) const;

  const Predictor& predictor_;
  const Optimiser& optimiser_;
  const Settings& settings_;
  const Plan& plan_;
  Seconds least_gain_;
};

}  // namespace polypath
