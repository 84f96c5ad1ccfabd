#include "machine/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "machine/driver_fields.h"
#include "machine/nodes.h"
#include "machine/provenance.h"

namespace polypath::machine {
namespace {

constexpr std::string_view kHost = "host";

std::string hop_name(const Machine& machine, const Hop& hop) {
  return machine.place(hop.source).name + " -> " + machine.place(hop.destination).name;
}

PlaceId nearest_gpu(const Machine& machine, PlaceId host) {
  PlaceId first;
  for (const PlaceId gpu : machine.places_of(PlaceKind::gpu)) {
    if (machine.place(gpu).node != machine.place(host).node) continue;
    if (machine.place(gpu).numa_node == machine.place(host).numa_node) return gpu;
    if (!first.valid()) first = gpu;
  }
  return first;
}

[[noreturn]] void fail_machine(const Machine& machine, const std::string& problem,
                               const std::string& why) {
  fail(ErrorCode::invalid_machine, fmt::format("machine '{}': {}", machine.name, problem), why,
       "Correct the machine file; docs/machines.md describes it.");
}

void check_duration(const Machine& machine, const std::string& what, Seconds seconds) {
  if (std::isfinite(seconds.value) && seconds.value >= 0 && seconds.value <= 1) return;
  fail_machine(machine, fmt::format("{} is {} s", what, seconds.value),
               "a latency or cost lies between 0 and 1 s");
}

void check_places(const Machine& machine) {
  if (machine.places.empty()) fail_machine(machine, "it has no places", "nothing can be copied");
  std::set<std::string> names;
  for (const Place& place : machine.places) {
    if (place.name.empty() || !names.insert(place.name).second)
      fail_machine(machine, fmt::format("place name '{}' is empty or used twice", place.name),
                   "places are told apart by name");
    check_duration(machine, place.name + ".staging_latency", place.staging_latency);
    check_duration(machine, place.name + ".relay_latency", place.relay_latency);
    check_duration(machine, place.name + ".busy_latency", place.busy_latency);
    check_duration(machine, place.name + ".reduction_latency", place.reduction_latency);
    if (!(place.reduction_bandwidth.value > 0))
      fail_machine(machine, fmt::format("{}.reduction_bandwidth is no rate", place.name),
                   "a reduction would never end");
  }
}

void check_burst(const Machine& machine, const Resource& resource) {
  const Burst& burst = resource.burst;
  if (burst.size.value == 0) return;
  if (!std::isfinite(burst.rate.value) || !(burst.rate > resource.capacity))
    fail_machine(machine, fmt::format("the burst of '{}' is no faster than it", resource.name),
                 "a burst is what a resource carries above its capacity");
}

void check_resources(const Machine& machine) {
  std::set<std::string> names;
  for (const Resource& resource : machine.resources) {
    if (resource.name.empty() || !names.insert(resource.name).second)
      fail_machine(machine, fmt::format("resource name '{}' is empty or used twice", resource.name),
                   "resources are told apart by name");
    if (!(resource.capacity.value > 0) || resource.copies_at_once < 0)
      fail_machine(machine, fmt::format("resource '{}' has no capacity", resource.name),
                   "a copy that uses it would never end");
    check_burst(machine, resource);
  }
}

void check_hop(const Machine& machine, const Hop& hop) {
  const auto known = [&](PlaceId id) { return id.valid() && id.index() < machine.places.size(); };
  if (!known(hop.source) || !known(hop.destination) || hop.source == hop.destination)
    fail_machine(machine, "a hop does not join two different places", "a hop is one copy");
  const std::string name =
      machine.place(hop.source).name + " -> " + machine.place(hop.destination).name;
  check_duration(machine, name + " latency", hop.latency);
  if (!(hop.bandwidth.value > 0) || !std::isfinite(hop.bandwidth.value))
    fail_machine(machine, name + " has no finite bandwidth", "a copy over it would never end");
  for (const Use& use : hop.uses) {
    const bool in_range = use.resource.valid() && use.resource.index() < machine.resources.size();
    if (!in_range || !(use.weight > 0) || !std::isfinite(use.weight))
      fail_machine(machine, name + " uses an unknown resource or has no positive weight",
                   "its share of the resource cannot be computed");
  }
}

void check_nodes(const Machine& machine) {
  int last = 0;
  for (const Place& place : machine.places) {
    if (place.node != last && place.node != last + 1)
      fail_machine(machine, fmt::format("{} is in node {}", place.name, place.node),
                   fmt::format("the place before is in node {}, and nodes are in order", last));
    last = place.node;
  }
  if (machine.places.front().node != 0)
    fail_machine(machine, "its first place is not in node 0", "nodes are counted from 0");
  for (const Hop& hop : machine.hops) {
    const bool leaves = machine.place(hop.source).node != machine.place(hop.destination).node;
    const bool network = hop.kind == HopKind::network || hop.kind == HopKind::network_staged;
    if (leaves != network)
      fail_machine(machine, fmt::format("the kind of {} does not fit", hop_name(machine, hop)),
                   "hops of the network join nodes, and only they do");
    if (hop.kind == HopKind::network_staged && !find_network_path(machine, hop))
      fail_machine(machine, fmt::format("{} has no way", hop_name(machine, hop)),
                   "no hosts that both reach are joined by the network");
  }
}

bool has_end_for(const Machine& machine, const Place& gpu, const Network& network) {
  return std::any_of(network.ends.begin(), network.ends.end(), [&](const NetworkEnd& end) {
    const Place& place = machine.place(end.place);
    return place.name == gpu.name || place.kind == PlaceKind::host;
  });
}

void check_network(const Machine& machine) {
  if (!machine.network) return;
  if (machine.nodes() > 1)
    fail_machine(machine, "it has several nodes and a network", "hops join its nodes already");
  check_duration(machine, "network.latency", machine.network->latency);
  for (const Place& place : machine.places)
    if (place.kind == PlaceKind::gpu && !has_end_for(machine, place, *machine.network))
      fail_machine(machine, fmt::format("the network does not reach {}", place.name),
                   "neither it nor a host is one of its ends");
}

void check_driver(const Machine& machine) {
  for (const DriverField& field : driver_fields()) {
    const double value = field.value_in(machine.driver);
    if (!field.accepts(value))
      fail_machine(machine, fmt::format("driver.{} is {}", field.name, value),
                   fmt::format("it lies between {} and {}", field.least, field.most));
  }
}

}  // namespace

PlaceId Machine::find_place(std::string_view wanted) const {
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i].name == wanted) return {static_cast<std::int32_t>(i)};
  if (const PlaceId host = host_for({}, {}); wanted == kHost && host.valid()) return host;
  std::vector<std::string> names;
  for (const Place& place : places) names.push_back(place.name);
  fail(ErrorCode::invalid_argument, fmt::format("place '{}' is unknown", wanted),
       fmt::format("machine '{}' has {}", this->name, join(names, ", ")), "Name one of them.");
}

std::pair<PlaceId, PlaceId> Machine::find_ends(std::string_view source,
                                               std::string_view destination) const {
  PlaceId from = source == kHost ? PlaceId{} : find_place(source);
  PlaceId to = destination == kHost ? PlaceId{} : find_place(destination);
  const PlaceId host = host_for(from, to);
  if (!host.valid() && !(from.valid() && to.valid())) (void)find_place(kHost);  // says so
  if (!from.valid()) from = host;
  if (!to.valid()) to = host;
  return {from, to};
}

PlaceId Machine::host_for(PlaceId source, PlaceId destination) const {
  for (const PlaceId end : {source, destination})
    if (end.valid() && place(end).kind == PlaceKind::gpu) return nearest_host(end);
  const auto hosts = places_of(PlaceKind::host);
  return hosts.empty() ? PlaceId{} : hosts.front();
}

std::optional<HopId> Machine::find_hop(PlaceId source, PlaceId destination) const {
  for (std::size_t i = 0; i < hops.size(); ++i)
    if (hops[i].source == source && hops[i].destination == destination)
      return HopId{static_cast<std::int32_t>(i)};
  return std::nullopt;
}

PlaceId Machine::nearest_host(PlaceId near) const {
  const auto hosts = places_of(PlaceKind::host);
  PlaceId first;
  for (const PlaceId host : hosts) {
    if (place(host).node != place(near).node) continue;
    if (place(host).numa_node == place(near).numa_node) return host;
    if (!first.valid()) first = host;
  }
  return first;
}

PlaceId Machine::executing_gpu(HopId id) const {
  const Hop& executed = hop(id);
  const auto is_gpu = [this](PlaceId end) { return place(end).kind == PlaceKind::gpu; };
  const bool pulled = id.pulled && is_gpu(executed.destination);
  if (is_gpu(executed.source) && !pulled) return executed.source;
  if (is_gpu(executed.destination)) return executed.destination;
  return nearest_gpu(*this, executed.source);
}

const std::vector<CostField>& cost_fields() {
  // Not destroyed: threads of the background may still be at work when the program ends.
  static const auto& fields =
      *new std::vector<CostField>{{"copy", &CallCosts::copy},
                                  {"event_record", &CallCosts::event_record},
                                  {"event_wait", &CallCosts::event_wait},
                                  {"synchronize", &CallCosts::synchronize},
                                  {"graph_launch", &CallCosts::graph_launch},
                                  {"graph_launch_node", &CallCosts::graph_launch_node},
                                  {"graph_instantiate", &CallCosts::graph_instantiate},
                                  {"graph_instantiate_node", &CallCosts::graph_instantiate_node},
                                  {"graph_update_node", &CallCosts::graph_update_node},
                                  {"threads_hold_up", &CallCosts::threads_hold_up, true}};
  return fields;
}

CallCosts held_up(CallCosts costs) {
  for (Seconds CallCosts::*call :
       {&CallCosts::copy, &CallCosts::event_record, &CallCosts::event_wait, &CallCosts::synchronize,
        &CallCosts::graph_launch})
    costs.*call += costs.threads_hold_up;
  return costs;
}

Machine held_up(Machine machine) {
  machine.costs = held_up(machine.costs);
  return machine;
}

Seconds Machine::staging(HopId first, HopId second) const {
  return wait_latency(first, executing_gpu(second));
}

Seconds Machine::wait_latency(HopId earlier, PlaceId gpu) const {
  const Place& at = place(hop(earlier).destination);
  return executing_gpu(earlier) == gpu ? at.relay_latency : at.staging_latency;
}

Seconds Machine::wait_latency(PlaceId kernels, PlaceId gpu) const {
  return kernels == gpu ? place(kernels).relay_latency : place(kernels).staging_latency;
}

Seconds Machine::reduction_time(PlaceId gpu, Bytes bytes, std::size_t operands) const {
  const Seconds of_two = bytes / place(gpu).reduction_bandwidth;
  return place(gpu).reduction_latency + of_two * (static_cast<double>(operands + 1) / 3);
}

std::vector<std::string> Machine::places_without_staging() const {
  std::vector<std::string> names;
  for (const Place& place : places)
    if (place.staging_missing) names.push_back(place.name);
  return names;
}

std::vector<PlaceId> Machine::places_of(PlaceKind kind) const {
  std::vector<PlaceId> found;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i].kind == kind) found.push_back({static_cast<std::int32_t>(i)});
  return found;
}

std::string hop_name(const Machine& machine, HopId hop) {
  return hop.valid() ? hop_name(machine, machine.hop(hop)) : "local";
}

void validate(const Machine& machine) {
  check_places(machine);
  check_resources(machine);
  std::set<std::pair<PlaceId, PlaceId>> joined;
  for (const Hop& hop : machine.hops) {
    check_hop(machine, hop);
    if (!joined.emplace(hop.source, hop.destination).second)
      fail_machine(machine,
                   fmt::format("two hops from {} to {}", machine.place(hop.source).name,
                               machine.place(hop.destination).name),
                   "an ordered pair has at most one");
  }
  for (const CostField& cost : cost_fields())
    check_duration(machine, "a call cost", machine.costs.*cost.value);
  check_driver(machine);
  check_nodes(machine);
  check_network(machine);
}

}  // namespace polypath::machine
