#pragma once
// A request with everything that follows from it, for the parts of the planner.

#include <map>
#include <optional>
#include <vector>

#include "plan/load.h"
#include "plan/options.h"
#include "plan/single/contention.h"

namespace polypath::plan {

struct PlannerRequest {
  PlaceId source;
  PlaceId destination;
  Bytes bytes;
  const PlanOptions* options = nullptr;
  const ConcurrentTransfers* concurrent = nullptr;
  LoadSignature load = {};                     ///< what they take
  std::vector<Path> paths = {};                ///< all there are, direct first
  Bytes smallest = {};                         ///< smaller messages are one native copy
  std::map<Path, Seconds> with_one_more = {};  ///< the plan's time with this path, too
  std::vector<Path> harmful = {};  ///< some plan over them would have harmed the concurrent
};

/// All paths, the direct one first. Error (invalid_argument) if there is none.
std::vector<Path> joining_paths(const Machine& machine, PlaceId source, PlaceId destination);

/// More than any memory holds.
inline constexpr Bytes kMostPlanned{std::uint64_t{1} << 50};

/// Error (invalid_argument) for a size of nothing, and for more than kMostPlanned.
void check_size(Bytes bytes);

/// True if a plan that the caller leaves to `choice` may run like that.
bool allows(std::optional<Executor> choice, Executor executor);

/// True if it may have several paths at all.
bool may_split(const PlannerRequest& request);

/// How several paths would run where one native copy is chosen.
Executor executor_of_more(const PlannerRequest& request);

}  // namespace polypath::plan
