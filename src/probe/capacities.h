#pragma once
// The capacities of what copies share.
//
// For a resource, copies run over a set of hops at the same time, several queued on each, and an
// event after each copy tells when it was over. While all hops of the set are busy, hop h moves
// bytes at rate x_h, and the set takes Σ w_h·x_h of the resource. Of several runs the median total
// counts, and of all sets the highest: that is the resource's capacity. It can be more than that
// where something else keeps copies from asking for more, and then no copies ever will.
//
// Sets are chosen by what is known so far (probe/hop_sets.h), at first from the hops' own
// bandwidths, later also from the capacities found, until no set promises more than was seen.

#include <functional>
#include <vector>

#include "probe/hop_sets.h"
#include "probe/hop_times.h"
#include "probe/samples.h"
#include "probe/workbench.h"

namespace polypath::probe {

/// The findings about one resource.
struct CapacityFound {
  BytesPerSecond total;  ///< the highest that was seen
  double spread = 0;
  std::size_t copies = 1;  ///< how many at a time took it
  /// True if more would have passed had there been room; else something else was the limit.
  bool is_limit = false;
};

/// One element per resource; engines, which have no capacity, have a total of 0. `step` is called
/// after each resource that has one.
std::vector<CapacityFound> measure_capacities(Workbench& bench, const Sampler& sampler,
                                              const std::vector<HopTimes>& hops,
                                              const std::function<void()>& step);

/// The rate of each copy of the set while all run: of element i, in each of so many equal parts of
/// that time. Error (driver) if no copy ends for long.
std::vector<std::vector<BytesPerSecond>> concurrent_rates(Workbench& bench, const HopSet& set,
                                                          const std::vector<HopTimes>& hops,
                                                          int parts);

}  // namespace polypath::probe
