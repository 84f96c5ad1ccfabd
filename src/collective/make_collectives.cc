#include "collective/make_collectives.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "collective/internode/internode_collectives.h"
#include "collective/rank/node_collectives.h"

namespace polypath {
namespace {

// The nodes' machines may differ, and pieces may not.
Bytes agreed_piece(Communicator& communicator, const Machine& machine) {
  const std::string own = std::to_string(piece_between_nodes(machine).value);
  Bytes most;
  for (const Blob& each : communicator.all_gather(own)) {
    Bytes said;
    std::from_chars(each.data(), each.data() + each.size(), said.value);
    most = std::max(most, said);
  }
  return most;
}

}  // namespace

std::string gpu_of(const Communicator& communicator, const std::string& named) {
  if (!named.empty()) return named;
  return "gpu" + std::to_string(communicator.nodes().local_rank(communicator.rank()));
}

std::unique_ptr<Collectives> make_collectives(Driver& driver, const Machine& machine,
                                              const Settings& settings, const std::string& gpu,
                                              std::unique_ptr<Communicator> communicator,
                                              const std::string& host) {
  const PlaceId place = machine.find_place(gpu_of(*communicator, gpu));
  if (communicator->nodes().count() == 1)
    return std::make_unique<NodeCollectives>(driver, machine, settings, place,
                                             std::move(communicator));
  const Bytes piece = agreed_piece(*communicator, machine);
  auto transport = transport_by_tcp(*communicator, host);
  return std::make_unique<InternodeCollectives>(
      driver, machine, settings, place, std::move(communicator),
      InternodeLink{.transport = std::move(transport), .piece = piece});
}

}  // namespace polypath
