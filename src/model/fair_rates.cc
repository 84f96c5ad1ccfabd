#include "model/fair_rates.h"

#include <algorithm>
#include <limits>

namespace polypath::model {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Progressive filling. `level` is the common rate of the flows that still rise.
class Filling {
 public:
  Filling(std::span<const Flow> flows, std::span<const Capacity> capacities)
      : flows_(flows),
        rates_(flows.size(), {-1}),
        left_(capacities.size()),
        rising_weight_(capacities.size(), 0) {
    for (std::size_t r = 0; r < left_.size(); ++r) left_[r] = capacities[r].value;
    for (const Flow& flow : flows)
      for (const Use& use : flow.uses) rising_weight_[use.resource.index()] += use.weight;
  }

  std::vector<BytesPerSecond> run() {
    std::size_t rising = flows_.size();
    while (rising > 0) {
      const double level = next_level();
      for (std::size_t f = 0; f < flows_.size(); ++f)
        if (rates_[f].value < 0 && limit_of(flows_[f]) <= level * (1 + 1e-12))
          stop(f, level), --rising;
    }
    return rates_;
  }

 private:
  // The level at which this flow must stop, were nothing else to stop before.
  [[nodiscard]] double limit_of(const Flow& flow) const {
    double limit = flow.cap.value;
    for (const Use& use : flow.uses) {
      const std::size_t r = use.resource.index();
      if (left_[r] < kInfinity) limit = std::min(limit, left_[r] / rising_weight_[r]);
    }
    return std::max(limit, 0.0);
  }

  [[nodiscard]] double next_level() const {
    double level = kInfinity;
    for (std::size_t f = 0; f < flows_.size(); ++f)
      if (rates_[f].value < 0) level = std::min(level, limit_of(flows_[f]));
    return level;
  }

  // A stopped flow's rate leaves the capacity that the rising ones divide.
  void stop(std::size_t f, double level) {
    rates_[f] = {level};
    for (const Use& use : flows_[f].uses) {
      left_[use.resource.index()] -= use.weight * level;
      rising_weight_[use.resource.index()] -= use.weight;
    }
  }

  std::span<const Flow> flows_;
  std::vector<BytesPerSecond> rates_;
  std::vector<double> left_;
  std::vector<double> rising_weight_;
};

}  // namespace

std::vector<BytesPerSecond> fair_rates(std::span<const Flow> flows,
                                       std::span<const Capacity> capacities) {
  return Filling(flows, capacities).run();
}

std::vector<Capacity> capacities_of(const Machine& machine) {
  std::vector<Capacity> capacities;
  for (const Resource& resource : machine.resources) capacities.push_back(resource.rate_limit());
  return capacities;
}

}  // namespace polypath::model
