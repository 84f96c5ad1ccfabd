// From which size on messages are planned, where no setting says so.

#include <algorithm>

#include "plan/single/planner.h"
#include "plan/single/planner_request.h"

namespace polypath {
namespace {

// The size classes below those that are always planned: sizes of one class have one answer.
std::vector<Bytes> classes() {
  std::vector<Bytes> sizes;
  for (Bytes octave = kNeverPlannedBelow; octave < kAlwaysPlanned; octave += octave)
    for (std::uint64_t eighth = 8; eighth < 16; ++eighth)
      sizes.push_back({octave.value / 8 * eighth});
  return sizes;
}

bool has_direct_path(const std::vector<Path>& paths) {
  return !paths.empty() && !paths.front().staged();
}

}  // namespace

Bytes Planner::smallest_planned(PlaceId source, PlaceId destination, Bytes bytes,
                                const PlanOptions& options) {
  if (settings_.min_message) return *settings_.min_message;
  if (bytes >= kAlwaysPlanned || options.executor == Executor::native) return kAlwaysPlanned;
  PlanOptions asked;
  asked.executor = options.executor, asked.left_out = options.left_out;
  const SmallestKey key{source, destination, asked.executor, asked.left_out};
  if (const Bytes* known = smallest_.find(key)) return *known;
  const ConcurrentTransfers nobody;
  Request request{.source = source,
                  .destination = destination,
                  .bytes = {},
                  .options = &asked,
                  .concurrent = &nobody,
                  .paths = find_paths(machine(), source, destination)};
  if (asked.left_out.empty()) ++searches_;
  return smallest_.insert(key, search_smallest(request));
}

// Searches for a threshold: a plan that gains at one size gains at a larger one.
Bytes Planner::search_smallest(Request& request) {
  if (!has_direct_path(request.paths)) return kAlwaysPlanned;
  const std::vector<Bytes> sizes = sizes_that_may_gain(request);
  const auto stays_native = [&](Bytes bytes) {
    request.bytes = bytes;
    Executor executor = Executor::native;
    (void)choose_alone(request, executor);
    return executor == Executor::native;
  };
  const auto found = std::partition_point(sizes.begin(), sizes.end(), stays_native);
  return found == sizes.end() ? kAlwaysPlanned : *found;
}

// No plan over several paths is over before the first bytes on some staged path are.
std::vector<Bytes> Planner::sizes_that_may_gain(const Request& request) const {
  Seconds quickest = Seconds::infinity();
  for (const Path& path : candidates(request)) {
    if (!path.staged()) continue;
    for (const Executor executor : {Executor::stream, Executor::graph})
      quickest =
          std::min(quickest,
                   predictor_.predict({executor, {{path, {512_B}}}}, settings_.staging_slots).time);
  }
  std::vector<Bytes> sizes = classes();
  std::erase_if(sizes, [&](Bytes bytes) {
    Request sized = request;
    sized.bytes = bytes;
    return to_beat_natively(sized, native(sized).prediction.time) <= quickest;
  });
  return sizes;
}

Bytes Planner::least_smallest_planned() const {
  if (settings_.min_message) return *settings_.min_message;
  const PlanOptions options;
  Bytes least = kAlwaysPlanned;
  for (const Hop& hop : machine().hops) {
    const Request request{.source = hop.source,
                          .destination = hop.destination,
                          .bytes = {},
                          .options = &options,
                          .paths = find_paths(machine(), hop.source, hop.destination)};
    if (!has_direct_path(request.paths)) continue;
    const std::vector<Bytes> sizes = sizes_that_may_gain(request);
    if (!sizes.empty()) least = std::min(least, sizes.front());
  }
  return least;
}

}  // namespace polypath
