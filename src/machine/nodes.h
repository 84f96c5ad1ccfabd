#pragma once
// Machines of several nodes: computers that are alike, joined by a network.
//
// A network has ends, the memories that a node's adapters read and write. A copy over it from end x
// of one node to end y of another takes α + bytes/β when alone, and uses what x says of copies out
// and y of copies in, the adapters among it. GPUs that are no ends are reached through hosts, by
// three copies: to the nearest host that is an end, over the network, and from the host there.

#include <optional>

#include "machine/machine.h"

namespace polypath::machine {

/// `nodes` copies of a machine, joined by its network: places and resources have names such as
/// "node1.gpu0", and each GPU has a hop to each of another node. One node is the machine as it is.
/// Errors (invalid_argument): fewer than one, more than kMostPlaces can name, no network.
Machine machine_of_nodes(const Machine& node, int nodes);

/// The hops that a staged copy between nodes takes.
struct NetworkPath {
  HopId out;
  HopId over;
  HopId in;
};

/// Of a hop that is network_staged; none if no hosts of both ends are joined. The hosts are those
/// of the ends' NUMA nodes where they are on the network, else the first that are.
std::optional<NetworkPath> find_network_path(const Machine& machine, const Hop& hop);

}  // namespace polypath::machine
