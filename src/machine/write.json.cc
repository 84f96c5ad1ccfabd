// The machine as a file with every pattern expanded.

#include <cmath>
#include <nlohmann/json.hpp>

#include "machine/library.h"

namespace polypath {
namespace {

using Json = nlohmann::ordered_json;

// What the file said about a number is not kept in a Machine, only the number.
constexpr const char* kSource = "expanded";

Json time_of(Seconds seconds) {
  return {{"value", seconds.value}, {"unit", "s"}, {"source", kSource}};
}

Json rate_of(BytesPerSecond rate) {
  return {{"value", rate.value}, {"unit", "B/s"}, {"source", kSource}};
}

Json json_of(const Place& place) {
  return {{"name", place.name},
          {"kind", place.kind == PlaceKind::gpu ? "gpu" : "host"},
          {"model", place.model},
          {"numa_node", place.numa_node},
          {"staging_latency", time_of(place.staging_latency)}};
}

Json json_of(const Resource& resource) {
  Json json = {{"name", resource.name}, {"kind", resource.kind}};
  if (std::isfinite(resource.capacity.value)) json["capacity"] = rate_of(resource.capacity);
  if (resource.copies_at_once > 0) json["copies_at_once"] = resource.copies_at_once;
  return json;
}

const char* name_of(HopKind kind) {
  switch (kind) {
    case HopKind::peer: return "peer";
    case HopKind::host: return "host";
    case HopKind::driver_staged: return "driver_staged";
  }
  return "peer";
}

Json json_of(const Machine& machine, const Hop& hop) {
  Json uses = Json::array();
  for (const Use& use : hop.uses)
    uses.push_back({{"resource", machine.resource(use.resource).name}, {"weight", use.weight}});
  return {{"from", machine.place(hop.source).name},
          {"to", machine.place(hop.destination).name},
          {"kind", name_of(hop.kind)},
          {"latency", time_of(hop.latency)},
          {"bandwidth", rate_of(hop.bandwidth)},
          {"uses", std::move(uses)}};
}

Json json_of(const CallCosts& costs) {
  return {{"copy", time_of(costs.copy)},
          {"event_record", time_of(costs.event_record)},
          {"event_wait", time_of(costs.event_wait)},
          {"synchronize", time_of(costs.synchronize)},
          {"graph_launch", time_of(costs.graph_launch)},
          {"graph_launch_node", time_of(costs.graph_launch_node)},
          {"graph_instantiate", time_of(costs.graph_instantiate)},
          {"graph_instantiate_node", time_of(costs.graph_instantiate_node)},
          {"graph_update_node", time_of(costs.graph_update_node)}};
}

}  // namespace

std::string machine_to_json(const Machine& machine) {
  Json json = {{"schema", "polypath.machine/1"},
               {"name", machine.name},
               {"description", machine.description}};
  json["sources"][kSource] = "Written by polypath from the machine '" + machine.name +
                             "'; the file that it was read from says where each number is from.";
  json["places"] = Json::array();
  json["resources"] = Json::array();
  json["hops"] = Json::array();
  for (const Place& place : machine.places) json["places"].push_back(json_of(place));
  for (const Resource& resource : machine.resources) json["resources"].push_back(json_of(resource));
  for (const Hop& hop : machine.hops) json["hops"].push_back(json_of(machine, hop));
  json["costs"] = json_of(machine.costs);
  return json.dump(1) + "\n";
}

}  // namespace polypath
