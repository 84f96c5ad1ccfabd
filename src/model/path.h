#pragma once
// A path: the direct hop, or two hops that meet at a staging place.

#include <compare>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "model/hockney.h"

namespace polypath {

struct Path {
  HopId first;
  HopId second;  ///< invalid for the direct path

  auto operator<=>(const Path&) const = default;
  [[nodiscard]] bool staged() const { return second.valid(); }
};

/// The place where a staged path meets; invalid for the direct path.
PlaceId staging_place(const Machine& machine, const Path& path);

/// "direct", "gpu2", "host0".
std::string name_of(const Machine& machine, const Path& path);

/// The path with the papers' parameters. ε is the staging place's.
HockneyPath hockney_path(const Machine& machine, const Path& path);

/// The machine's resources as the model sees them: an engine that works on m copies at a time is a
/// capacity of m seconds of work per second, and a hop claims 1/β of it per byte.
class ResourceModel {
 public:
  explicit ResourceModel(const Machine& machine);

  /// What a copy over `hop` takes, per byte, of each resource.
  [[nodiscard]] const std::vector<Use>& claims(HopId hop) const { return claims_[hop.index()]; }
  /// What a path takes per byte: the sum over its hops.
  [[nodiscard]] std::vector<Use> claims(const Path& path) const;
  /// Indexed by resource; in bytes per second, or in copies for engines.
  [[nodiscard]] const std::vector<BytesPerSecond>& capacities() const { return capacities_; }

 private:
  std::vector<std::vector<Use>> claims_;
  std::vector<BytesPerSecond> capacities_;
};

}  // namespace polypath
