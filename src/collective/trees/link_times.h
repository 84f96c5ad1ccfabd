#pragma once
// How long a byte from one rank to another occupies each resource of a machine, which a direct copy
// of its takes. A hop that is slower than all that it uses is a resource of its own.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "collective/trees/arborescence.h"
#include "collective/trees/tree.h"
#include "machine/machine.h"

namespace polypath {

/// A byte occupies the resource for so long.
struct BusyTime {
  std::size_t resource = 0;
  double time = 0;
};
using BusyTimes = std::vector<BusyTime>;  ///< each resource once at most

class LinkTimes {
 public:
  LinkTimes(const Machine& machine, std::span<const PlaceId> ranks);

  [[nodiscard]] int ranks() const { return static_cast<int>(times_.size()); }
  [[nodiscard]] std::size_t resources() const { return resources_; }
  /// Of one byte along each edge of the tree, inwards or outwards.
  [[nodiscard]] BusyTimes of(const Tree& tree, bool inwards) const;
  /// Of each edge, what `cost` says of its resources, in all; edges cost a little in any case, so
  /// that of equally busy ways the shorter one is the cheaper.
  [[nodiscard]] CostMatrix costs(const std::function<double(const BusyTime&)>& cost) const;

 private:
  [[nodiscard]] BusyTimes busy_times_of(const Machine& machine, HopId hop,
                                        std::vector<std::size_t>& rows);

  std::size_t resources_ = 0;
  std::vector<std::vector<std::optional<BusyTimes>>> times_;  ///< from, to
};

}  // namespace polypath
