#pragma once
// A plan: a program with its predicted time and the reasons for every choice. Immutable, and free
// of addresses.

#include <memory>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "model/predict.h"

namespace polypath::plan {

/// The decision about one path, and its reason.
struct PathDecision {
  Path path;
  std::string name;
  bool included = false;
  double share = 0;
  Bytes bytes;
  int chunks = 0;
  /// Until its last byte has arrived. If not included: the transfer's time with it forced in, or as
  /// it is where the caller chose the paths or the path was no candidate; in a joint plan, the time
  /// of all transfers.
  Seconds predicted;
  std::string reason;
};

struct Plan {
  PlaceId source;
  PlaceId destination;
  Bytes bytes;
  TransferShape shape;  ///< empty paths for a copy within one place
  Program program;      ///< of the shape, with its events; one node for a native copy
  Seconds predicted;
  Seconds native_predicted;
  std::vector<PathDecision> decisions;  ///< all paths there are, the direct one first
  /// Equal for plans whose programs are equal: the key of the plan's graph.
  std::string structure;

  [[nodiscard]] Executor executor() const { return shape.executor; }
};

using PlanPointer = std::shared_ptr<const Plan>;

/// The paths between two places that the machine offers: the direct hop first if there is one, then
/// through every place that has a real hop to both ends, GPUs before hosts.
std::vector<Path> find_paths(const Machine& machine, PlaceId source, PlaceId destination);

}  // namespace polypath::plan
