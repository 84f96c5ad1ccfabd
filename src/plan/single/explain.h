#pragma once
// Why each path is in a plan or out of it, in one sentence with its numbers.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/predict.h"
#include "plan/plan.h"

namespace polypath::plan {

/// The paths that `numbers` names ("direct", "gpu2", "host"), with their numbers, the direct one
/// first and then in the machine's order. Error (invalid_argument) for a name that is no path
/// between the two places lists those that are.
std::vector<std::pair<Path, double>> named_paths(const Machine& machine, PlaceId source,
                                                 PlaceId destination,
                                                 const std::map<std::string, double>& numbers);

/// The grounds on which the plan was chosen.
struct PlanGrounds {
  Seconds least_gain;        ///< what it had to gain over a native copy
  Bytes smallest_planned;    ///< smaller messages are one native copy
  std::vector<Path> in_use;  ///< paths that run meanwhile, its own among them
  /// The plan's time with one more path, with its uncontended share.
  struct With {
    Seconds time;
    bool harms = false;  ///< some transfer of the set would end later than natively
  };
  std::function<With(const Path&)> time_with;
  /// The plan is part of a joint plan, and `time_with` says when the whole set would be over; that
  /// is after `of_set` as it is.
  std::optional<Seconds> of_set = {};
  std::string asked = "by request";  ///< why paths are in it that were not chosen
};

/// Writes the decisions of one plan.
class Explainer {
 public:
  Explainer(const Predictor& predictor, const Plan& plan, PlanGrounds grounds)
      : predictor_(predictor), plan_(plan), grounds_(std::move(grounds)) {}

  /// `prediction` is that of the plan's shape; `barred` says why the path was no candidate, and is
  /// empty if it was one.
  [[nodiscard]] PathDecision decide(const Path& path, const Prediction& prediction,
                                    const std::string& barred, bool forced) const;

 private:
  [[nodiscard]] std::string reason_in(const PathDecision& decision, bool forced) const;
  [[nodiscard]] std::string reason_out(const PathDecision& decision, const std::string& barred,
                                       bool forced, bool harms) const;
  [[nodiscard]] std::string reason_though_faster(bool harms) const;
  [[nodiscard]] std::string verdict(const PathDecision& decision) const;
  [[nodiscard]] Seconds without() const { return grounds_.of_set.value_or(plan_.predicted); }
  [[nodiscard]] std::string contention(const Path& path) const;

  const Predictor& predictor_;
  const Plan& plan_;
  PlanGrounds grounds_;
};

}  // namespace polypath::plan
