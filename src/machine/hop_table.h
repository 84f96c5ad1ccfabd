#pragma once
// The hops of a machine by their ends, for callers that ask for many.

#include <optional>
#include <vector>

#include "machine/machine.h"

namespace polypath::machine {

class HopTable {
 public:
  /// The hops do not change while it is used.
  explicit HopTable(const Machine& machine)
      : machine_(machine), places_(machine.places.size()), hops_(places_ * places_) {
    for (std::size_t hop = machine.hops.size(); hop-- > 0;)
      hops_[row(machine.hops[hop].source, machine.hops[hop].destination)] = {
          static_cast<std::int32_t>(hop)};
  }

  [[nodiscard]] const Machine& machine() const { return machine_; }
  /// As Machine::find_hop.
  [[nodiscard]] std::optional<HopId> find(PlaceId source, PlaceId destination) const {
    const HopId hop = hops_[row(source, destination)];
    return hop.valid() ? std::optional(hop) : std::nullopt;
  }

 private:
  [[nodiscard]] std::size_t row(PlaceId source, PlaceId destination) const {
    return places_ * source.index() + destination.index();
  }

  const Machine& machine_;
  std::size_t places_;
  std::vector<HopId> hops_;  ///< by row; invalid where there is none
};

}  // namespace polypath::machine
