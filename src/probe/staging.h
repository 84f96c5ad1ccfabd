#pragma once
// ε: the cost of going on, on another stream, where a copy has arrived; and the cost that a busy
// GPU adds.
//
// One chunk goes from a over s to d as a staged path would take it: forked from the stream of the
// GPU that would make a native copy, joined back into it, on a machine that was idle before. That
// takes
//   T = record + wait + copy + p(a -> s) + ε(s) + p(s -> d) + ε(d) + synchronize,
// where p is the time of a chain of such copies, timed in turn with the chunk because both drift,
// and the chunk is long enough that nothing waits for a call. So every pair of hops gives a sum
// ε(s) + ε(d), and all sums together, by least squares, the ε of each place: the staging latency
// where another GPU goes on, the relay latency where the same one does. Where sums do not settle
// the parts, staging latencies are taken to be alike: on two GPUs the host's is as large as theirs.
//
// A sum that is not above 0, or scatters too much, is measured again and in the end left out. A
// staging latency of which then nothing is left was not found.
//
// A chain of n copies out of a GPU to its host is timed alone and beside one long copy of the same
// GPU to a peer:
//   busy latency = (T_beside - T_alone) / n,
// only where the two hops share nothing. Waits are taken to cost as much more: a driver leaves out
// a wait for completed work, so that a chain of waits would show nothing.

#include <functional>
#include <optional>
#include <vector>

#include "probe/call_costs.h"
#include "probe/hop_times.h"
#include "probe/samples.h"
#include "probe/workbench.h"

namespace polypath::probe {

/// The latencies of one place.
struct StagingTimes {
  bool is_relay = false;           ///< some path can be staged there
  std::optional<Seconds> staging;  ///< nothing: not found
  Seconds relay;                   ///< the staging latency where it cannot be told from it
  double spread = 0;               ///< the largest of what the place took part in
};

/// All relays that can be timed: for each hop, one from a hop of another GPU into its source and
/// one from a hop of its own, as far as there are.
std::vector<HopPair> staging_relays(const Machine& machine);

/// Of every place. `hops` are the times of all hops of the machine, `synchronize` what waiting for
/// an idle stream costs; `step` is called after each relay.
std::vector<StagingTimes> measure_staging(Workbench& bench, const Sampler& sampler,
                                          const std::vector<HopTimes>& hops,
                                          const StreamCosts& costs, Seconds synchronize,
                                          const std::function<void()>& step);

/// The busy latency of each place; 0 for hosts, and where it cannot be seen.
std::vector<Seconds> measure_busy(Workbench& bench, const Sampler& sampler,
                                  const std::vector<HopTimes>& hops);

}  // namespace polypath::probe
