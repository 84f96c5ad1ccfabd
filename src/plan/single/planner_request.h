#pragma once
// Declarations that only the planner's sources share.

#include <map>
#include <string>
#include <vector>

#include "plan/single/planner.h"

namespace polypath {

/// A request with everything that follows from it.
struct Planner::Request {
  PlaceId source;
  PlaceId destination;
  Bytes bytes;
  const PlanOptions* options = nullptr;
  const ConcurrentTransfers* concurrent = nullptr;
  LoadSignature load = {};                     // what they take
  std::vector<Path> paths = {};                // all there are, direct first
  Bytes smallest = {};                         // smaller messages are one native copy
  std::map<Path, Seconds> with_one_more = {};  // what the plan would take with this path, too
  std::vector<Path> harmful = {};  // some plan over them would have harmed the concurrent
};

/// All paths, the direct one first. Error (invalid_argument) if there is none.
std::vector<Path> joining_paths(const Machine& machine, PlaceId source, PlaceId destination);

/// More than any memory holds.
inline constexpr Bytes kMostPlanned{std::uint64_t{1} << 50};

/// Error (invalid_argument) for a size of nothing, and for more than kMostPlanned.
void check_size(Bytes bytes);

/// True if a plan that the caller leaves to `choice` may run like that.
bool allows(std::optional<Executor> choice, Executor executor);

/// "host" means the host place nearest to the GPU that sends, else to the one that receives. Other
/// names stay.
std::string resolve(const Machine& machine, PlaceId source, PlaceId destination,
                    const std::string& name);

/// True if the path stages where the calibration found no latency.
bool rests_on_missing(const Machine& machine, const Path& path);

/// True for a split by the caller or by a table that stages bytes where nothing may be.
bool uses_left_out(const Machine& machine, const Draft& draft, const LeftOutRelays& relays);

}  // namespace polypath
