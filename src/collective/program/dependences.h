#pragma once
// Which earlier nodes a node has to wait for, so that nodes which run at the same time do what they
// would do one after another: those that wrote what it reads, and those that read or wrote what it
// writes. Of them only those are named that nothing named already comes after, be it by its place
// in a queue or over any number of others, because every name is a wait.

#include <map>
#include <memory_resource>
#include <span>
#include <vector>

#include "model/program.h"

namespace polypath::collective {

/// Memory that a node uses.
struct MemoryUse {
  Slice slice;
  Bytes bytes;
  bool writes = false;
};

class Dependences {
 public:
  /// The node numbered next, in `queue`, uses this. Returns the nodes of other queues to be named,
  /// until the next call.
  std::vector<int>& add(int queue, std::span<const MemoryUse> uses);

  using Readers = std::pmr::vector<int>;
  /// Memory that has been used alike: its last writer, and the last reader since then in each
  /// queue.
  struct Segment {
    Bytes end;
    int writer;
    Readers readers;
  };

 private:
  /// By where they begin; they do not overlap.
  using Segments = std::pmr::map<Bytes, Segment>;

  [[nodiscard]] int& known(int node, int queue) {
    return known_[stride_ * static_cast<std::size_t>(node) + static_cast<std::size_t>(queue)];
  }
  void begin(int node, int queue);
  void widen(std::size_t queues);
  void find_conflicts(std::span<const MemoryUse> uses);
  void note(int node, const MemoryUse& use);
  void note_reader(int node, Segment& segment) const;
  void name(int earlier, int node);

  std::pmr::monotonic_buffer_resource memory_;  ///< of all segments
  std::vector<Segments> segments_;              ///< by buffer
  std::vector<int> queues_;                     ///< by node
  std::vector<int> last_;                       ///< by queue; -1 of none
  std::vector<int> known_;  ///< by node, and then by queue, the last one that it comes after, or -1
  std::size_t stride_ = 0;  ///< of known_: at least as many as queues
  std::vector<int> conflicts_, named_;  ///< of the node that is added
};

}  // namespace polypath::collective
