#pragma once
// Issue times of transfers, path by path. They depend on the numbers of chunks, not on their sizes:
// while an optimiser moves bytes between paths they stay, and are remembered.

#include <map>
#include <vector>

#include "model/issue.h"

namespace polypath::model {

/// When the copies of one path are issued, from the call.
struct PathIssue {
  std::vector<Seconds> first;   ///< per chunk, its copy over the first hop
  std::vector<Seconds> second;  ///< per chunk, its copy over the second hop; empty if direct
};

struct TransferIssue {
  std::vector<PathIssue> paths;
  Seconds done;  ///< when the call returns
};

/// Not thread-safe.
class TransferIssues {
 public:
  explicit TransferIssues(const Machine& machine) : machine_(machine) {}

  /// `slots` is the size of a staging ring. Valid until the next call.
  const TransferIssue& of(const TransferShape& transfer, int slots);

 private:
  [[nodiscard]] TransferIssue find_out(const TransferShape& transfer, int slots) const;

  const Machine& machine_;
  /// By executor, slots, and per path its chunks, negative if it is direct.
  std::map<std::vector<int>, TransferIssue> known_;
  std::vector<int> key_;  ///< of the last call
};

}  // namespace polypath::model
