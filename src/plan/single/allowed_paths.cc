#include "plan/single/allowed_paths.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/load.h"

namespace polypath::plan {
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

std::vector<Path> AllowedPaths::of(const PlannerRequest& request) const {
  std::vector<Path> allowed{request.paths.front()};
  for (const Path& path : request.paths)
    if (path.staged() && is_selected(request, path) && barred(request, path).empty())
      allowed.push_back(path);
  const bool from_gpu = model_.machine().place(request.source).kind == PlaceKind::gpu;
  const PlaceId own = from_gpu ? request.source : request.destination;
  std::stable_sort(allowed.begin() + 1, allowed.end(), [&](const Path& a, const Path& b) {
    return turn_of(model_.machine(), own, a) < turn_of(model_.machine(), own, b);
  });
  return allowed;
}

std::vector<Path> AllowedPaths::of(PlaceId source, PlaceId destination,
                                   const PlanOptions& options) const {
  return of(PlannerRequest{.source = source,
                           .destination = destination,
                           .bytes = {},
                           .options = &options,
                           .paths = joining_paths(model_.machine(), source, destination)});
}

std::string AllowedPaths::why_not(const PlannerRequest& request, const Path& path) const {
  std::string reason = barred(request, path);
  if (reason.empty() && path.staged() && !is_selected(request, path))
    return "left out by the settings";
  return reason;
}

// By the settings.
bool AllowedPaths::is_selected(const PlannerRequest& request, const Path& path) const {
  const std::string name = name_of(model_.machine(), path);
  const auto listed = [&](const std::vector<std::string>& names) {
    return contains(names, name) ||
           (contains(names, "host") &&
            name == resolve(model_.machine(), request.source, request.destination, "host"));
  };
  return (model_.settings().include.empty() || listed(model_.settings().include)) &&
         !listed(model_.settings().exclude);
}

// Why a path must not be used, as words; empty if it may be. A path must not slow down a transfer
// that is in flight already: on a loaded resource there must be room for its whole rate.
std::string AllowedPaths::barred(const PlannerRequest& request, const Path& path) const {
  if (const auto why = left_out(model_.machine(), path, request.options->left_out))
    return fmt::format("left out by the engine: {}", describe(*why));
  if (rests_on_missing(model_.machine(), path) && !request.options->forced())
    return fmt::format(
        "the calibration found no staging latency of {}, and no plan rests on a nominal one (run "
        "'polypath calibrate' again when nothing else runs on the machine)",
        name_of(model_.machine(), path));
  if (!request.options->forced() && overloads(model_.predictor(), path, request.load))
    return "a transfer in flight already fills what it would use";
  return "";
}

}  // namespace polypath::plan
