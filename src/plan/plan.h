#pragma once
// A plan: which paths carry which bytes in which chunks, as a DAG of copies. Immutable, and free of
// addresses: offsets are relative to the two buffers of a later transfer.

#include <memory>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "model/predict.h"

namespace polypath {

/// Where one end of a copy lies.
enum class End {
  source,       ///< in the source buffer, at `offset`
  destination,  ///< in the destination buffer, at `offset`
  slot,         ///< at the start of staging slot `slot` of the path's ring
};

/// One copy of the plan.
struct CopyNode {
  HopId hop;
  End from = End::source;
  End to = End::destination;
  Bytes offset;
  Bytes bytes;
  int path = 0;   ///< index into Plan::shape.paths
  int chunk = 0;  ///< index of the chunk within the path
  int slot = -1;  ///< staging slot, counted from the ring's first; -1 for a direct copy
  /// Nodes that must have finished, besides those before it on the same hop: the first copy of the
  /// chunk, or the second copy of the chunk that used the slot before.
  std::vector<int> after;
  bool awaited = false;  ///< some later node of another hop names it in `after`
};

/// What was decided about one path, and why.
struct PathDecision {
  Path path;
  std::string name;
  bool included = false;
  double share = 0;
  Bytes bytes;
  int chunks = 0;
  /// Until its last byte has arrived. If not included: the transfer's time with it forced in, or as
  /// it is where the caller chose the paths or the path was no candidate.
  Seconds predicted;
  std::string reason;
};

struct Plan {
  PlaceId source;
  PlaceId destination;
  Bytes bytes;
  TransferShape shape;          ///< empty paths for a copy within one place
  std::vector<CopyNode> nodes;  ///< in issue order; one for a native copy
  Seconds predicted;
  Seconds native_predicted;
  std::vector<PathDecision> decisions;  ///< all paths there are, the direct one first
  int slots = 0;                        ///< slots per staging ring that the nodes assume
  Bytes slot_bytes;
  /// Equal for plans whose nodes are equal: what a graph of the plan is found by.
  std::string structure;

  [[nodiscard]] Executor executor() const { return shape.executor; }
};

using PlanPointer = std::shared_ptr<const Plan>;

/// The copies of a shape in issue order: chunk by chunk, the first copies of all paths and then
/// their second ones, so that every path starts as early as it can. Byte ranges are handed out path
/// by path in the order of `shape`, so that each path's range is contiguous.
std::vector<CopyNode> build_nodes(const TransferShape& shape, int slots);

/// The nodes as a string that is equal exactly for equal nodes.
std::string structure_of(const std::vector<CopyNode>& nodes);

/// The paths between two places that the machine offers: the direct hop first if there is one, then
/// through every place that has a real hop to both ends, GPUs before hosts.
std::vector<Path> find_paths(const Machine& machine, PlaceId source, PlaceId destination);

}  // namespace polypath
