#pragma once
// How long copies over one hop take: its α and β.
//
// A chain of n copies of b bytes on one stream, timed from before the first call until the wait
// returns, takes
//   T(n) = copy call + n·p + synchronize,   p = α + b/β,
// as long as a copy takes longer than the call that issues the next one. So
//   p = (T(n2) - T(n1)) / (n2 - n1),
// in which neither calls nor waiting appear. A line through p over b gives α and 1/β. Sizes at
// which a copy is not clearly longer than a call are left out. T(1), less the call and p, is the
// cost of synchronize.

#include <vector>

#include "probe/fit.h"
#include "probe/samples.h"
#include "probe/workbench.h"

namespace polypath::probe {

/// Copies of one size in a chain.
struct SizeTime {
  Bytes bytes;
  Seconds per_copy;     ///< p
  Seconds synchronize;  ///< T(1) - copy call - p
};

/// The measured values of one hop.
struct HopTimes {
  HopId hop;
  std::vector<SizeTime> sizes;  ///< ascending
  Line line;                    ///< seconds over bytes: α, and 1/β
  double spread = 0;            ///< the largest of the sizes'
  double fit_error = 0;         ///< the largest, at 1 MiB and above

  [[nodiscard]] Seconds latency() const { return {line.intercept}; }
  [[nodiscard]] BytesPerSecond bandwidth() const { return {1 / line.slope}; }
  /// The measurement at this size, or null.
  [[nodiscard]] const SizeTime* at(Bytes bytes) const;
};

/// T(n) of a hop.
Seconds chain_time(Workbench& bench, HopId hop, Bytes bytes, int copies);

/// The sizes that chains have: 64 KiB to 256 MiB, in steps of 4.
const std::vector<Bytes>& chain_sizes();

/// Measures one hop; `copy_call` is what issuing a copy costs. Error (noisy_machine) if the repeats
/// differ or the times are on no line, every time.
HopTimes measure_hop(Workbench& bench, const Sampler& sampler, HopId hop, Seconds copy_call);

}  // namespace polypath::probe
