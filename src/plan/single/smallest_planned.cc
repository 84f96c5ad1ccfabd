#include "plan/single/smallest_planned.h"

#include <algorithm>

namespace polypath::plan {
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

SmallestPlanned::SmallestPlanned(const PlanModel& model, const AllowedPaths& paths,
                                 PlansAlone& alone)
    : model_(model),
      paths_(paths),
      alone_(alone),
      smallest_(static_cast<std::size_t>(model.settings().plan_cache)) {}

Bytes SmallestPlanned::of(PlaceId source, PlaceId destination, Bytes bytes,
                          const PlanOptions& options) {
  if (model_.settings().min_message) return *model_.settings().min_message;
  if (bytes >= kAlwaysPlanned || options.executor == Executor::native) return kAlwaysPlanned;
  PlanOptions asked;
  asked.executor = options.executor, asked.left_out = options.left_out;
  const Key key{source, destination, asked.executor, asked.left_out};
  if (const Bytes* known = smallest_.find(key)) return *known;
  const ConcurrentTransfers none;
  PlannerRequest request{.source = source,
                         .destination = destination,
                         .bytes = {},
                         .options = &asked,
                         .concurrent = &none,
                         .paths = find_paths(model_.machine(), source, destination)};
  if (asked.left_out.empty()) ++searches_;
  return smallest_.insert(key, search(request));
}

// Searches for a threshold: a plan that gains at one size gains at a larger one.
Bytes SmallestPlanned::search(PlannerRequest& request) {
  if (!has_direct_path(request.paths)) return kAlwaysPlanned;
  const std::vector<Bytes> sizes = sizes_that_may_gain(request);
  const auto stays_native = [&](Bytes bytes) {
    request.bytes = bytes;
    Executor executor = Executor::native;
    (void)alone_.choose(request, executor);
    return executor == Executor::native;
  };
  const auto found = std::partition_point(sizes.begin(), sizes.end(), stays_native);
  return found == sizes.end() ? kAlwaysPlanned : *found;
}

// No plan over several paths is over before the first bytes on some staged path are.
std::vector<Bytes> SmallestPlanned::sizes_that_may_gain(const PlannerRequest& request) const {
  Seconds quickest = Seconds::infinity();
  for (const Path& path : paths_.of(request)) {
    if (!path.staged()) continue;
    for (const Executor executor : {Executor::stream, Executor::graph})
      quickest = std::min(
          quickest, model_.predictor()
                        .predict({executor, {{path, {512_B}}}}, model_.settings().staging_slots)
                        .time);
  }
  std::vector<Bytes> sizes = classes();
  std::erase_if(sizes, [&](Bytes bytes) {
    PlannerRequest sized = request;
    sized.bytes = bytes;
    return model_.to_beat(sized, model_.native(sized).prediction.time) <= quickest;
  });
  return sizes;
}

Bytes SmallestPlanned::least() const {
  if (model_.settings().min_message) return *model_.settings().min_message;
  const PlanOptions options;
  Bytes least = kAlwaysPlanned;
  for (const Hop& hop : model_.machine().hops) {
    const PlannerRequest request{
        .source = hop.source,
        .destination = hop.destination,
        .bytes = {},
        .options = &options,
        .paths = find_paths(model_.machine(), hop.source, hop.destination)};
    if (!has_direct_path(request.paths)) continue;
    const std::vector<Bytes> sizes = sizes_that_may_gain(request);
    if (!sizes.empty()) least = std::min(least, sizes.front());
  }
  return least;
}

}  // namespace polypath::plan
