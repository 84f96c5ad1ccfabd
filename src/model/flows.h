#pragma once
// The activities whose bytes flow now, at max-min fair rates (fair_rates.h), and what is left of
// the resources' bursts (burst_credit.h). Rates are found anew when a flow begins or ends, and when
// a resource has used up its credit above its capacity.

#include <vector>

#include "machine/machine.h"
#include "model/activity.h"
#include "model/burst_credit.h"
#include "model/hop_rates.h"

namespace polypath {

class Flows {
 public:
  Flows(const Machine& machine, HopRates& hop_rates)
      : machine_(machine), hop_rates_(hop_rates), credit_(hop_rates.capacities()) {}

  /// True of an activity that has no bytes to flow any more.
  [[nodiscard]] static bool has_nothing_left(const Activity& activity);

  void begin(const ActivityPointer& activity);
  /// Nothing if it does not flow.
  void end(const ActivityPointer& activity);
  /// Time passes.
  void pass(Seconds duration);

  /// How long until the first of them is through.
  [[nodiscard]] Seconds until_completion();
  /// How long the rates stay as they are.
  [[nodiscard]] Seconds credit_lasts() const { return credit_.lasts(); }
  /// Those that are through at `now`.
  [[nodiscard]] std::vector<ActivityPointer> through(Seconds now) const;

 private:
  void find_rates();

  const Machine& machine_;
  HopRates& hop_rates_;
  std::vector<ActivityPointer> flowing_;
  HopRates::Scene scene_;  ///< of what flows
  std::vector<BytesPerSecond> rates_;
  bool rates_stale_ = false;
  BurstCredit credit_;
};

}  // namespace polypath
