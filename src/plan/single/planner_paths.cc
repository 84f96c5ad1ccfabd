// Which paths a plan may use.

#include <fmt/format.h>

#include <algorithm>

#include "plan/load.h"
#include "plan/single/planner.h"
#include "plan/single/planner_request.h"

namespace polypath {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::optional<LeftOutBecause> left_out(const Machine& machine, const Path& path,
                                       const LeftOutRelays& relays) {
  if (!path.staged()) return std::nullopt;
  return relays.reason(staging_place(machine, path));
}

// From the transfer's own GPU on, round and round; places that are no GPUs last.
std::size_t turn_of(const Machine& machine, PlaceId own, const Path& path) {
  const std::size_t places = machine.places.size();
  const PlaceId relay = staging_place(machine, path);
  if (machine.place(relay).kind != PlaceKind::gpu) return places + relay.index();
  return (relay.index() + places - own.index()) % places;
}

}  // namespace

std::string resolve(const Machine& machine, PlaceId source, PlaceId destination,
                    const std::string& name) {
  if (name != "host") return name;
  const PlaceId host = machine.host_for(source, destination);
  return host.valid() ? machine.place(host).name : name;
}

bool rests_on_missing(const Machine& machine, const Path& path) {
  return path.staged() && machine.place(staging_place(machine, path)).staging_missing;
}

bool uses_left_out(const Machine& machine, const Draft& draft, const LeftOutRelays& relays) {
  return std::any_of(draft.paths.begin(), draft.paths.end(), [&](const PathDraft& part) {
    return left_out(machine, part.path, relays).has_value();
  });
}

// The direct path and every other that the settings allow and that nothing bars. Relays that are
// equally good are taken in turn from the transfer's own GPU on: the ranks of a node, which each
// choose for themselves, else had contexts and staging memory on the same few.
std::vector<Path> Planner::candidates(const Request& request) const {
  std::vector<Path> allowed{request.paths.front()};
  for (const Path& path : request.paths)
    if (path.staged() && is_selected(request, path) && barred(request, path).empty())
      allowed.push_back(path);
  const bool from_gpu = machine().place(request.source).kind == PlaceKind::gpu;
  const PlaceId own = from_gpu ? request.source : request.destination;
  std::stable_sort(allowed.begin() + 1, allowed.end(), [&](const Path& a, const Path& b) {
    return turn_of(machine(), own, a) < turn_of(machine(), own, b);
  });
  return allowed;
}

std::vector<Path> Planner::usable_paths(PlaceId source, PlaceId destination,
                                        const PlanOptions& options) const {
  return candidates({.source = source,
                     .destination = destination,
                     .bytes = {},
                     .options = &options,
                     .paths = joining_paths(machine(), source, destination)});
}

std::string Planner::why_not(PlaceId source, PlaceId destination, const Path& path,
                             const PlanOptions& options) const {
  if (!path.staged()) return "";
  const Request request{
      .source = source, .destination = destination, .bytes = {}, .options = &options};
  const std::string reason = barred(request, path);
  return reason.empty() && !is_selected(request, path) ? "left out by the settings" : reason;
}

// By the settings.
bool Planner::is_selected(const Request& request, const Path& path) const {
  const std::string name = name_of(machine(), path);
  const auto listed = [&](const std::vector<std::string>& names) {
    return contains(names, name) ||
           (contains(names, "host") &&
            name == resolve(machine(), request.source, request.destination, "host"));
  };
  return (settings_.include.empty() || listed(settings_.include)) && !listed(settings_.exclude);
}

// Why a path must not be used, as words; empty if it may be. A path must not slow down a transfer
// that is in flight already: on a loaded resource there must be room for its whole rate.
std::string Planner::barred(const Request& request, const Path& path) const {
  if (const auto why = left_out(machine(), path, request.options->left_out))
    return fmt::format("left out by the engine: {}", describe(*why));
  if (rests_on_missing(machine(), path) && !request.options->forced())
    return fmt::format(
        "the calibration found no staging latency of {}, and no plan rests on a nominal one (run "
        "'polypath calibrate' again when nothing else runs on the machine)",
        name_of(machine(), path));
  if (!request.options->forced() && overloads(predictor_, path, request.load))
    return "a transfer in flight already fills what it would use";
  return "";
}

}  // namespace polypath
