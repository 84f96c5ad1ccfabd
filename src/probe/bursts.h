#pragma once
// The bytes that resources carry above their capacity for a while: a cache in front of a memory.
//
// Copies over the set of hops that asks most of a resource start on a machine that has rested, and
// take N bytes of it in all. By the equation of model/burst_credit.h the last of them ends at
//
//   T(N) = t + max(N/B, (N − S)/C)
//
// where t is the time of calls and latencies. Two small N give B and t, two large ones C, and S is
// the lead of the large ones: S = N − C·(T(N) − t). A burst that lasts beyond the smaller of the
// large ones is not seen, and of a rate that copies cannot ask for only that much is.

#include <optional>
#include <vector>

#include "probe/capacities.h"

namespace polypath::probe {

struct BurstFound {
  Burst burst;
  BytesPerSecond lasting;  ///< C
  double spread = 0;
};

/// One element per resource; nothing where copies show no burst, or where their times scatter.
std::vector<std::optional<BurstFound>> measure_bursts(Workbench& bench, const Sampler& sampler,
                                                      const std::vector<HopTimes>& hops,
                                                      const std::vector<CapacityFound>& capacities);

}  // namespace polypath::probe
