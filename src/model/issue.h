#pragma once
// When the calling thread issues each node of a program (001, algorithm 1, adds up α for this). On
// a machine of several nodes each node has a thread, which issues what its GPUs do.
//
// Streams: the calls of stream_calls.h, one after another. Graph: a wait per ring, one launch,
// whose nodes start one after another, a record and a wait per ring.

#include <vector>

#include "model/transfer.h"

namespace polypath::model {

struct IssueTimes {
  std::vector<Seconds> nodes;  ///< when each is issued, from the call
  Seconds done;                ///< when the call returns
};

IssueTimes issue_times(const Machine& machine, const Program& program, Executor executor);

}  // namespace polypath::model
