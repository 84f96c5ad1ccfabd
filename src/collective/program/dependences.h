#pragma once
// Which earlier nodes a node has to wait for, so that nodes which run at the same time do what they
// would do one after another: those that wrote what it reads, and those that read or wrote what it
// writes. Of them only those are named that nothing named already comes after, be it by its place
// in a queue or over any number of others, because every name is a wait.

#include <map>
#include <span>
#include <vector>

#include "model/program.h"

namespace polypath {

/// Memory that a node uses.
struct MemoryUse {
  Slice slice;
  Bytes bytes;
  bool writes = false;
};

class Dependences {
 public:
  /// The node numbered next, in `queue`, uses this. Returns the nodes of other queues to be named.
  std::vector<int> add(int queue, std::span<const MemoryUse> uses);

  /// Memory that has been used alike: its last writer, and the last reader since then in each
  /// queue.
  struct Segment {
    Bytes end;
    int writer = -1;
    std::vector<int> readers = {};
  };

 private:
  using Segments = std::map<Bytes, Segment>;  ///< by where they begin; they do not overlap

  [[nodiscard]] std::vector<int> conflicts(std::span<const MemoryUse> uses) const;
  void note(int node, const MemoryUse& use);
  void note_reader(int node, Segment& segment) const;
  void name(int node, std::vector<int>& known, std::vector<int>& named) const;

  std::vector<Segments> segments_;       ///< by buffer
  std::vector<int> queues_;              ///< by node
  std::vector<std::vector<int>> known_;  ///< by node: by queue, the last one it comes after
  std::vector<int> last_;                ///< by queue
};

}  // namespace polypath
