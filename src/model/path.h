#pragma once
// A path: the direct hop, or two hops that meet at a staging place.

#include <compare>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "model/hockney.h"

namespace polypath::model {

struct Path {
  HopId first;
  HopId second;  ///< invalid for the direct path

  auto operator<=>(const Path&) const = default;
  [[nodiscard]] bool staged() const { return second.valid(); }
};

/// The path over two hops. A relay to a host pulls, so that both copies are its own: to push, the
/// source's GPU needs a context of ours, 0.13 s and 524 MB, and room in its queues
/// (results/h200x4/own_contexts.json, results/h100x4/queue_depth.json). Pulling is taken to be as
/// fast as pushing, as it is over NVLink (results/h100x4/own_contexts.json); PCIe was not measured.
Path staged_path(const Machine& machine, HopId first, HopId second);

/// The place where a staged path meets; invalid for the direct path.
PlaceId staging_place(const Machine& machine, const Path& path);

/// "direct", "gpu2", "host0".
std::string name_of(const Machine& machine, const Path& path);

/// From the end of a staged path's last copy until the caller's stream knows of it. That is taken
/// to be a stream of the GPU that would make a native copy: the source, or the destination.
Seconds join_latency(const Machine& machine, const Path& path);

/// The path with the papers' parameters. ε is the staging place's.
HockneyPath hockney_path(const Machine& machine, const Path& path);

/// The machine's resources as the model sees them: an engine that works on m copies at a time is a
/// capacity of m seconds of work per second, and a copy at rate x claims 1/x of it per byte.
class ResourceModel {
 public:
  explicit ResourceModel(const Machine& machine);

  /// A path's claim on each resource, per byte it carries: the sum over its hops.
  [[nodiscard]] std::vector<Use> claims(const Path& path) const;
  /// The same of one hop.
  [[nodiscard]] const std::vector<Use>& claims(HopId hop) const { return of_hops_[hop.index()]; }
  /// Indexed by resource.
  [[nodiscard]] const std::vector<Capacity>& capacities() const { return capacities_; }
  /// The rate of the path on an idle machine with both hops at work: less than either hop's where
  /// they share a resource, as the two halves of a host path share a host's memory.
  [[nodiscard]] BytesPerSecond own_rate(const Path& path) const;
  /// True if the two hops need the same engine and it works on one copy at a time.
  [[nodiscard]] bool exclude_each_other(HopId a, HopId b) const;

 private:
  [[nodiscard]] BytesPerSecond shared_limit(const Path& path) const;
  [[nodiscard]] std::vector<Use> claims_of(const Hop& hop) const;

  const Machine* machine_;
  std::vector<Capacity> capacities_;
  std::vector<std::vector<Use>> of_hops_;  ///< the claims of each
};

}  // namespace polypath::model
