#pragma once
// Fair rates of copies over given hops, found once for each set of hops.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "machine/machine.h"
#include "model/fair_rates.h"

namespace polypath {

/// The max-min fair rates of copies over given hops at the same time, remembered per set of hops.
class HopRates {
 public:
  /// Hops at work, by their indices in ascending order, and the resources whose bursts are used up.
  struct Scene {
    std::vector<std::int32_t> hops;
    std::vector<ResourceId> spent;
    bool operator==(const Scene&) const = default;
  };

  explicit HopRates(const Machine& machine);

  /// By the hops' indices: the rate of each copy over that hop; 0 of hops that are not at work.
  const std::vector<BytesPerSecond>& of(const Scene& scene);
  [[nodiscard]] const std::vector<Capacity>& capacities() const { return capacities_; }

 private:
  struct SceneHash {
    std::size_t operator()(const Scene& scene) const noexcept;
  };

  const Machine& machine_;
  std::vector<Capacity> capacities_;
  std::unordered_map<Scene, std::vector<BytesPerSecond>, SceneHash> known_;
};

}  // namespace polypath
