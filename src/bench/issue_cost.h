#pragma once
// How long the calling thread is busy with one copy: the time that a program loses to issue,
// independent of the copy's own time. Real GPUs only; simulated calls cost what the machine file
// says.

#include <string>
#include <vector>

#include "bench/measure.h"

namespace polypath::bench {

struct IssueCost {
  Bytes bytes;
  std::string how;  ///< "driver", "native", "stream", "graph", "graph, new addresses", "automatic"
  Seconds call;     ///< median time in the call
  int nodes = 1;    ///< copies that the call enqueued
};

/// For every size: the driver's own call, and the engine's by each executor, from `source` to
/// `destination` of the request; the stream is idle before each call. Error (unsupported) without
/// GPUs.
std::vector<IssueCost> measure_issue(const OpenMachine& opened, const Request& request);

}  // namespace polypath::bench
