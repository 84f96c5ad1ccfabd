#include "engine/planning/plan_finder.h"

#include <algorithm>

namespace polypath::engine {

PlanFinder::PlanFinder(const Machine& machine, const Settings& settings, Plans& plans,
                       BackgroundPlans* background)
    : machine_(machine),
      settings_(settings),
      executor_(parse_executor(settings.executor)),
      plans_(plans),
      background_(background) {}

LeftOutRelays PlanFinder::left_out_for(const CopyCall& call, const CopyEnds& ends) const {
  LeftOutRelays all = left_out_;
  if (reads_peer(call, ends))
    for (const PlaceId host : machine_.places_of(PlaceKind::host))
      all.add(host, LeftOutBecause::waits_for_reads);
  return all;
}

// While memory of the program is read over NVLink by a context that is not its own, copies of it to
// the host by contexts of ours wait for that: 22 to 31 GB/s instead of 54 (H100, driver 580,
// results/h100x4/own_contexts.json). If its own GPU sends it, by the program's stream, they do not.
// Memory of another process is not slowed down so (results/h200x4/own_contexts.json), yet UCX's
// gets take longer by the host (results/h200x4/ucx_gets.json). A program that names the paths gets
// them.
bool PlanFinder::reads_peer(const CopyCall& call, const CopyEnds& ends) const {
  const bool reads = machine_.place(ends.source).kind == PlaceKind::gpu &&
                     machine_.place(ends.destination).kind == PlaceKind::gpu &&
                     call.stream_gpu != ends.source;
  return settings_.own_contexts && reads && !call.options.forced() && settings_.include.empty();
}

std::optional<Executor> PlanFinder::choice_of(const PlanOptions& options) const {
  return options.executor ? options.executor : executor_;
}

bool PlanFinder::may_learn(const PlanOptions& options) const {
  return settings_.learn && !choice_of(options) && !options.asks_for_paths();
}

PlanOptions PlanFinder::complete(const PlanOptions& options) const {
  PlanOptions completed = options;
  completed.executor = choice_of(options);
  completed.left_out = left_out_;
  return completed;
}

// Where memory is not open to all GPUs, it may have gone and other memory come to its addresses by
// the time that a graph is launched again: such copies run as streams.
PlanRequest PlanFinder::request_for(const CopyCall& call, const CopyEnds& ends) const {
  PlanRequest request{.source = ends.source,
                      .destination = ends.destination,
                      .bytes = call.bytes,
                      .options = complete(call.options),
                      .own = OwnEnds::of(ends)};
  if (request.own.any() && request.options.executor != Executor::native)
    request.options.executor = Executor::stream;
  return request;
}

// To make a graph would not pay for the short while until the others are ready.
PlanRequest PlanFinder::limited_to(const PlaceSet& relays, PlanRequest request) const {
  for (std::size_t index = 0; index < machine_.places.size(); ++index)
    if (const PlaceId place{static_cast<int>(index)}; !relays.contains(place))
      request.options.left_out.add(place, LeftOutBecause::being_prepared);
  if (!request.options.executor) request.options.executor = Executor::stream;
  return request;
}

template <class Request>
auto PlanFinder::find_known(const Request& request) {
  return background_ != nullptr ? background_->find(request) : plans_.make(request);
}

PlanPointer PlanFinder::find(const PlanRequest& request) {
  return request.options.asks_for_paths() ? plans_.make(request) : find_known(request);
}

PlanPointer PlanFinder::find(const SplitRequest& request) { return find_known(request); }
JointPlanPointer PlanFinder::find(const JointRequest& request) { return find_known(request); }
PieceRecipePointer PlanFinder::find(const PieceRequest& request) { return find_known(request); }

// Until it is known, its upper bound is used.
Bytes PlanFinder::native_threshold(const CopyCall& call, const CopyEnds& ends) {
  const Bytes most = settings_.min_message.value_or(kAlwaysPlanned);
  if (!ends.stay_where_they_are()) return std::min(most, settings_.pageable_min);
  if (settings_.min_message || call.bytes >= most || ends.source == ends.destination) return most;
  if (call.bytes < kNeverPlannedBelow) return kNeverPlannedBelow;
  const PlanRequest request = request_for(call, ends);
  return background_ != nullptr ? background_->find_smallest(request)
                                : plans_.make_smallest(request);
}

bool PlanFinder::has_lanes(const JointPlan& joint) const {
  const auto split =
      std::count_if(joint.plans.begin(), joint.plans.end(),
                    [](const PlanPointer& plan) { return plan->executor() != Executor::native; });
  return split <= settings_.lanes;
}

}  // namespace polypath::engine
