#include "machine/nodes.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace polypath::machine {
namespace {

void add_uses(std::vector<Use>& uses, const std::vector<Use>& more) {
  for (const Use& use : more) {
    const auto same = std::find_if(uses.begin(), uses.end(),
                                   [&](const Use& u) { return u.resource == use.resource; });
    if (same == uses.end()) uses.push_back(use);
    else same->weight += use.weight;
  }
}

class MachineOfNodes {
 public:
  MachineOfNodes(const Machine& node, int nodes) : node_(node), count_(nodes), machine_(node) {
    machine_.name = fmt::format("{}-{}-nodes", node.name, nodes);
    machine_.description = fmt::format("{} nodes: {}", nodes, node.description);
    machine_.places.clear(), machine_.resources.clear(), machine_.hops.clear();
    machine_.network.reset();
  }

  Machine build() && {
    for (int number = 0; number < count_; ++number) add_node(number);
    for (const bool staged : {false, true})
      for (int from = 0; from < count_; ++from)
        for (int to = 0; to < count_; ++to)
          if (from != to) staged ? add_staged_hops(from, to) : add_hops(from, to);
    return std::move(machine_);
  }

 private:
  [[nodiscard]] PlaceId place(PlaceId of_node, int number) const {
    return {of_node.value + number * static_cast<std::int32_t>(node_.places.size())};
  }
  [[nodiscard]] std::vector<Use> uses(std::vector<Use> of_node, int number) const {
    for (Use& use : of_node)
      use.resource.value += number * static_cast<std::int32_t>(node_.resources.size());
    return of_node;
  }

  void add_node(int number) {
    const std::string prefix = fmt::format("node{}.", number);
    for (Place each : node_.places) {
      each.name = prefix + each.name, each.node = number;
      machine_.places.push_back(std::move(each));
    }
    for (Resource each : node_.resources) {
      each.name = prefix + each.name;
      machine_.resources.push_back(std::move(each));
    }
    for (Hop each : node_.hops) {
      each.source = place(each.source, number), each.destination = place(each.destination, number);
      each.uses = uses(std::move(each.uses), number);
      machine_.hops.push_back(std::move(each));
    }
  }

  void add_hops(int from, int to) {
    const Network& network = *node_.network;
    for (const NetworkEnd& out : network.ends)
      for (const NetworkEnd& in : network.ends) {
        if (node_.place(out.place).kind != node_.place(in.place).kind) continue;
        Hop hop{.source = place(out.place, from),
                .destination = place(in.place, to),
                .kind = HopKind::network,
                .latency = network.latency,
                .bandwidth = network.bandwidth,
                .uses = uses(out.out, from)};
        add_uses(hop.uses, uses(in.in, to));
        machine_.hops.push_back(std::move(hop));
      }
  }

  [[nodiscard]] bool is_end(PlaceId gpu) const {
    const auto& ends = node_.network->ends;
    return std::any_of(ends.begin(), ends.end(),
                       [&](const NetworkEnd& end) { return end.place == gpu; });
  }

  void add_staged_hops(int from, int to) {
    const auto gpus = node_.places_of(PlaceKind::gpu);
    for (const PlaceId source : gpus)
      for (const PlaceId destination : gpus)
        if (!is_end(source) || !is_end(destination))
          add_staged_hop(place(source, from), place(destination, to));
  }

  // As if all of it went one way after the other; a pipelined transfer is faster.
  void add_staged_hop(PlaceId source, PlaceId destination) {
    Hop hop;
    hop.source = source, hop.destination = destination, hop.kind = HopKind::network_staged;
    const auto path = find_network_path(machine_, hop);
    if (!path)
      fail(ErrorCode::invalid_argument,
           fmt::format("{} cannot send to {}", machine_.place(source).name,
                       machine_.place(destination).name),
           "it has no hops to and from a host that the network reaches",
           "Add them to the machine's file.");
    double seconds_per_byte = 0;
    for (const HopId id : {path->out, path->over, path->in}) {
      const Hop& part = machine_.hop(id);
      hop.latency += part.latency;
      seconds_per_byte += 1 / part.bandwidth.value;
      add_uses(hop.uses, part.uses);
    }
    for (const HopId id : {path->out, path->over})
      hop.latency += machine_.place(machine_.hop(id).destination).staging_latency;
    hop.bandwidth = {1 / seconds_per_byte};
    machine_.hops.push_back(std::move(hop));
  }

  const Machine& node_;
  int count_;
  Machine machine_;
};

void check_count(const Machine& node, int nodes) {
  const std::size_t most = kMostPlaces / std::max<std::size_t>(node.places.size(), 1);
  if (nodes >= 1 && static_cast<std::size_t>(nodes) <= most) return;
  fail(ErrorCode::invalid_argument, fmt::format("{} nodes of {} cannot be had", nodes, node.name),
       fmt::format("a machine has at most {} places, and each node has {}", kMostPlaces,
                   node.places.size()),
       fmt::format("Ask for 1 to {}.", std::max<std::size_t>(most, 1)));
}

}  // namespace

Machine machine_of_nodes(const Machine& node, int nodes) {
  if (nodes == 1) return node;
  if (node.nodes() > 1)
    fail(ErrorCode::invalid_argument, fmt::format("{} cannot be a node of another", node.name),
         fmt::format("it has {} nodes itself", node.nodes()), "Leave the number of nodes out.");
  check_count(node, nodes);
  if (!node.network)
    fail(ErrorCode::invalid_argument, fmt::format("{} nodes of {} cannot be had", nodes, node.name),
         "nothing says what network joins them",
         "Add the field network to its file (docs/machines.md), or name mist or cedar.");
  Machine machine = MachineOfNodes(node, nodes).build();
  validate(machine);
  return machine;
}

std::optional<NetworkPath> find_network_path(const Machine& machine, const Hop& hop) {
  std::optional<NetworkPath> found;
  int most_near = -1;
  for (std::size_t i = 0; i < machine.hops.size(); ++i) {
    const Hop& over = machine.hops[i];
    const Place &from = machine.place(over.source), &to = machine.place(over.destination);
    const Place& source = machine.place(hop.source);
    const Place& destination = machine.place(hop.destination);
    if (over.kind != HopKind::network || from.kind != PlaceKind::host || from.node != source.node ||
        to.node != destination.node)
      continue;
    const int near = (from.numa_node == source.numa_node ? 1 : 0) +
                     (to.numa_node == destination.numa_node ? 1 : 0);
    const auto out = machine.find_hop(hop.source, over.source);
    const auto in = machine.find_hop(over.destination, hop.destination);
    if (!out || !in || near <= most_near) continue;
    most_near = near;
    found = NetworkPath{*out, {static_cast<std::int32_t>(i)}, *in};
  }
  return found;
}

}  // namespace polypath::machine
