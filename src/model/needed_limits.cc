#include "model/needed_limits.h"

#include <algorithm>

namespace polypath::model {
namespace {

class NeededLimits {
 public:
  NeededLimits(const Machine& machine, std::span<const Capacity> capacities)
      : capacities_(capacities), users_(capacities.size()) {
    for (const Capacity& each : capacities) needed_.push_back(each < BytesPerSecond::infinity());
    for (const Hop& hop : machine.hops)
      for (const Use& use : hop.uses) users_[use.resource.index()].push_back(&hop);
  }

  // One after another, so that what stands for others is needed itself, or something else is.
  std::vector<bool> find() {
    for (std::size_t r = 0; r < needed_.size(); ++r)
      if (is_steady(r) && !users_[r].empty() && follows_from_others(r)) needed_[r] = false;
    return std::move(needed_);
  }

 private:
  [[nodiscard]] bool is_steady(std::size_t r) const {
    return needed_[r] && capacities_[r].credit == 0;
  }
  [[nodiscard]] bool may_stand_for(std::size_t other, std::size_t r, double more = 0) const {
    return other != r && is_steady(other) &&
           capacities_[other].value + more <= capacities_[r].value;
  }
  static double weight(const Hop& hop, std::size_t resource) {
    const auto of = [](const Use& use) { return use.resource.index(); };
    const auto use = std::ranges::find(hop.uses, resource, of);
    return use == hop.uses.end() ? 0 : use->weight;
  }

  // What stands for it is used by each of its hops, or is one of two.
  [[nodiscard]] bool follows_from_others(std::size_t r) const {
    for (const Use& use : users_[r].front()->uses) {
      const std::size_t one = use.resource.index();
      if (!may_stand_for(one, r)) continue;
      const auto lacking = std::ranges::find_if(
          users_[r], [&](const Hop* hop) { return weight(*hop, one) < weight(*hop, r); });
      if (lacking == users_[r].end() || follows_with(**lacking, r, one)) return true;
    }
    return false;
  }

  // A second one, which a hop needs.
  [[nodiscard]] bool follows_with(const Hop& lacking, std::size_t r, std::size_t one) const {
    return std::ranges::any_of(lacking.uses, [&](const Use& use) {
      const std::size_t other = use.resource.index();
      return other != one && may_stand_for(other, r, capacities_[one].value) &&
             std::ranges::all_of(users_[r], [&](const Hop* hop) {
               return weight(*hop, one) + weight(*hop, other) >= weight(*hop, r);
             });
    });
  }

  std::span<const Capacity> capacities_;
  std::vector<std::vector<const Hop*>> users_;  ///< by resource
  std::vector<bool> needed_;
};

}  // namespace

std::vector<bool> needed_limits(const Machine& machine, std::span<const Capacity> capacities) {
  return NeededLimits(machine, capacities).find();
}

}  // namespace polypath::model
