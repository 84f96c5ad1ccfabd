#pragma once
// Max-min fair rates of copies that share resources.
//
// Flow f has a cap c_f and takes w_fr·x_f of resource r with capacity C_r. The max-min fair rates x
// are the feasible ones (x_f <= c_f, Σ_f w_fr·x_f <= C_r) where no flow can gain except at the cost
// of one that has no more. Progressive filling finds them: raise all rates together; a flow stops
// at its cap or when one of its resources is full; repeat with those still rising.

#include <span>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "machine/machine.h"

namespace polypath::model {

/// One flow: at most `cap`, and its claims on the resources.
struct Flow {
  BytesPerSecond cap;
  std::span<const Use> uses;
};

/// Flows that are limited alike, but for rounding, stop together.
inline constexpr double kTogether = 1 + 1e-12;

/// True if flows that could take `demand` need a resource's limit; one that they fill exactly
/// counts, because sums of demands are rounded.
inline bool binds(double demand, double capacity) { return demand > capacity * (1 - 1e-9); }

/// Finds rates again and again, in memory that it keeps.
class FairRates {
 public:
  /// The max-min fair rate of each flow, in bytes per second, valid until the next call.
  /// `capacities` is indexed by resource.
  std::span<const double> find(std::span<const Flow> flows, std::span<const Capacity> capacities);

 private:
  struct Filled {
    double left = 0, rising = 0;  // capacity, and the weight of flows that still rise
    double share = 0;             // their quotient: of a flow of weight 1
    double demand = 0;            // what its flows could take without it
    bool binds = false;           // it could be asked for more than it has
    bool used = false;            // by one of the flows
  };

  void begin(std::span<const Flow> flows, std::span<const Capacity> capacities);
  void use_resources(std::span<const Flow> flows, std::span<const Capacity> capacities);
  void fill();
  [[nodiscard]] bool meets_limit(const Flow& flow) const;
  [[nodiscard]] double limit_of(std::size_t flow) const;
  void stop(std::size_t flow, double level);

  std::span<const Flow> flows_;
  std::vector<Filled> resources_;
  std::vector<std::size_t> used_;  // of these
  std::vector<double> rates_;
  std::vector<std::size_t> rising_;  // flows without a rate
};

/// The same once.
std::vector<BytesPerSecond> fair_rates(std::span<const Flow> flows,
                                       std::span<const Capacity> capacities);

/// The capacities of a machine's resources, in order, with their bursts. Fair rates know none: they
/// take what each has now (burst_credit.h).
std::vector<Capacity> capacities_of(const Machine& machine);

}  // namespace polypath::model
