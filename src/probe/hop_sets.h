#pragma once
// Which hops to run at the same time to see the capacity of a resource.

#include <span>
#include <vector>

#include "machine/machine.h"

namespace polypath::probe {

/// The assumptions about the machine while a set is chosen.
struct Knowledge {
  std::vector<BytesPerSecond> bandwidths;  ///< of each hop alone
  std::vector<Capacity> capacities;        ///< of each resource; infinite where not known
};

/// A hop may be in a set more than once: copies on several streams.
using HopSet = std::vector<HopId>;

/// The use of the resource by all copies over the set together, if rates are max-min fair.
BytesPerSecond expected_total(const Machine& machine, const Knowledge& knowledge,
                              ResourceId resource, const HopSet& set);

/// The set that is expected to take the most of `resource` if it had no limit itself: hop after
/// hop, always the one that adds most, until none adds anything, or an engine keeps out those that
/// would. At most two copies over one hop, and as many hops as a measurement can feed.
HopSet heaviest_set(const Machine& machine, Knowledge knowledge, ResourceId resource);

/// One copy at rate x takes weight·x of the resource; 0 if the hop does not use it.
double weight_of(const Hop& hop, ResourceId resource);

/// True if there is a resource that both use.
bool share_something(const Hop& a, const Hop& b);

/// The hop of a machine at this index.
inline HopId hop_id(std::size_t index) { return {static_cast<std::int32_t>(index)}; }

}  // namespace polypath::probe
