#pragma once
// What the parts of the planner predict by: the machine as different transfers see it, and the
// settings.

#include <memory>
#include <optional>
#include <utility>

#include "core/settings.h"
#include "machine/machine.h"
#include "model/predict.h"
#include "plan/load.h"
#include "plan/options.h"
#include "plan/single/contention.h"
#include "plan/single/planner_request.h"
#include "plan/single/splitter.h"

namespace polypath::plan {

/// Where no setting says so: smaller messages are never planned,
inline constexpr Bytes kNeverPlannedBelow = 64_KiB;
/// and these and larger ones always.
inline constexpr Bytes kAlwaysPlanned = 2_MiB;

class PlanModel {
 public:
  PlanModel(const Machine& machine, const Settings& settings);

  [[nodiscard]] const Machine& machine() const { return predictor_.machine(); }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] const Predictor& predictor() const { return predictor_; }
  /// As Planner::predictor.
  [[nodiscard]] const Predictor& predictor(BothWays issued) const;
  /// The predictor for a transfer beside the request's others.
  [[nodiscard]] const Predictor& predictor_beside(const PlannerRequest& request) const;
  [[nodiscard]] Splitter splitter(const PlannerRequest& request, Executor executor,
                                  Bytes bytes) const;

  /// One native copy.
  [[nodiscard]] Draft native(const PlannerRequest& request) const;
  /// As Planner::to_beat.
  [[nodiscard]] Seconds to_beat(const Path& direct, Bytes bytes, Seconds native,
                                BothWays both_ways) const;
  /// The same for a request whose native copy takes so long.
  [[nodiscard]] Seconds to_beat(const PlannerRequest& request, Seconds native) const {
    return to_beat(request.paths.front(), request.bytes, native, request.options->both_ways);
  }
  /// What transfers take of the machine's resources.
  [[nodiscard]] Load load_of(const ConcurrentTransfers& concurrent) const;

 private:
  /// The machine as some transfers see it, and the predictor for those.
  struct SeenAs {
    explicit SeenAs(Machine seen) : machine(std::move(seen)), predictor(machine) {}
    Machine machine;
    Predictor predictor;
  };

  Settings settings_;
  Predictor predictor_;
  std::unique_ptr<SeenAs> lasting_;  ///< without bursts; null where there are none
  std::unique_ptr<SeenAs> held_up_;  ///< the same by threads; null where they do not
};

}  // namespace polypath::plan
