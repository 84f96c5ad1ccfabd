#pragma once
// The activities whose bytes flow now, at max-min fair rates (hop_rates.h), and what is left of
// the resources' bursts (burst_credit.h). Rates are found anew when a flow begins or ends, and when
// a resource has used up its credit above its capacity. Until its rate changes a flow is known by
// what was left of it at some time, and when it ends.

#include <vector>

#include "machine/machine.h"
#include "model/activity.h"
#include "model/burst_credit.h"
#include "model/hop_rates.h"

namespace polypath::model {

class Flows {
 public:
  explicit Flows(const HopRates& hop_rates)
      : hop_rates_(hop_rates), rates_(hop_rates), credit_(hop_rates.capacities()) {}

  /// True of an activity that has no bytes to flow.
  [[nodiscard]] static bool has_nothing_left(const Activity& activity);

  void begin(const ActivityPointer& activity);
  /// Nothing if it does not flow.
  void end(const ActivityPointer& activity);
  /// Time passes until `now`.
  void pass_to(Seconds now);

  /// When the first of them is through; infinity if there is none.
  [[nodiscard]] Seconds completion();
  /// Until when the rates stay as they are.
  [[nodiscard]] Seconds credit_ends() const { return now_ + credit_.lasts(); }
  /// Those that are through now.
  [[nodiscard]] std::vector<ActivityPointer> through() const;

 private:
  struct Flowing {
    ActivityPointer activity;
    double left = 0;  ///< bytes, at `since`
    Seconds since, ends;
    double rate = 0;  ///< since then
  };

  void find_rates();
  void change_rate(Flowing& flow, double rate) const;
  [[nodiscard]] double left_now(const Flowing& flow) const;
  [[nodiscard]] bool is_through(const Flowing& flow) const;
  void limit_by_credit();
  void take_credit();

  const HopRates& hop_rates_;
  RatesAtWork rates_;
  BurstCredit credit_;
  Seconds now_;
  std::vector<Flowing> flowing_;
  Seconds soonest_ = Seconds::infinity();
  bool rates_stale_ = false;
};

}  // namespace polypath::model
