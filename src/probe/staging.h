#pragma once
// ε: what it costs to learn, on another stream, that a copy has arrived.
//
// Copies go in turn over a hop into place s and a hop out of it, into place d, each on a stream of
// its own, of different GPUs where there are two; each waits for an event after the one before it.
// A round of two takes
//   R = p(a -> s) + ε(s) + p(s -> d) + ε(d),
// taken, as for hops, from the difference between many rounds and few; p is what the chain of such
// copies took. So every pair gives a sum ε(s) + ε(d), and all sums together, by least squares, the
// ε of each place. Of a GPU and a host alone only the sum can be seen; each then gets half of it.

#include <functional>
#include <vector>

#include "probe/call_costs.h"
#include "probe/hop_times.h"
#include "probe/samples.h"
#include "probe/workbench.h"

namespace polypath::probe {

/// The staging latency of each place.
struct StagingTimes {
  std::vector<Seconds> places;
  std::vector<double>
      spreads;  ///< the largest of the rounds that the place took part in; 0 if none
};

/// All relays that can be timed: one for each ordered pair of places that has one.
std::vector<HopPair> staging_relays(const Machine& machine);

/// `hops` are the times of all hops of the machine; `step` is called after each relay.
StagingTimes measure_staging(Workbench& bench, const Sampler& sampler,
                             const std::vector<HopTimes>& hops, const StreamCosts& costs,
                             const std::function<void()>& step);

}  // namespace polypath::probe
