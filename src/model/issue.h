#pragma once
// When the calling thread issues each copy of a transfer (001, algorithm 1, adds up α for this).
//
// Streams: record the fork event; then chunk by chunk the first copies of all paths, the direct one
// among them (the first chunk waits for the fork, one that reuses a slot waits for it; copy,
// record), and their second copies (wait, copy, and record if the slot is used again); at the end
// one record and two waits per staged path. Graph: a wait per staged path for its staging ring, one
// launch, whose nodes start one after another in the same order, a record and a wait per ring.

#include <vector>

#include "model/predict.h"

namespace polypath {

/// Issue times of one path, from the call.
struct PathIssue {
  std::vector<Seconds> first;   ///< per chunk, its copy over the first hop
  std::vector<Seconds> second;  ///< per chunk, its copy over the second hop; empty if direct
};

struct TransferIssue {
  std::vector<PathIssue> paths;
  Seconds done;  ///< when the call returns
};

/// Issue times when the call is made at `start`.
TransferIssue issue_times(const Machine& machine, const TransferShape& transfer, int slots,
                          Seconds start);

}  // namespace polypath
