#include "collective/make_collectives.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "collective/internode/internode_collectives.h"
#include "collective/rank/node_collectives.h"

namespace polypath::collective {

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

Connect over_tcp(const std::string& host) {
  return [host](Communicator& communicator) { return transport_by_tcp(communicator, host); };
}

std::string gpu_of(const Communicator& communicator, const std::string& named) {
  if (!named.empty()) return named;
  return "gpu" + std::to_string(communicator.nodes().local_rank(communicator.rank()));
}

std::unique_ptr<Collectives> make_collectives(Driver& driver, const Machine& machine,
                                              const Settings& settings, const std::string& gpu,
                                              std::unique_ptr<Communicator> communicator,
                                              const Connect& connect) {
  const PlaceId place =
      or_abort(*communicator, [&] { return machine.find_place(gpu_of(*communicator, gpu)); });
  if (communicator->nodes().count() == 1)
    return std::make_unique<NodeCollectives>(driver, machine, settings, place,
                                             std::move(communicator));
  const Bytes piece = agreed_piece(*communicator, machine);
  auto transport = or_abort(*communicator, [&] { return connect(*communicator); });
  return std::make_unique<InternodeCollectives>(
      driver, machine, settings, place, std::move(communicator),
      InternodeLink{.transport = std::move(transport), .piece = piece});
}

std::unique_ptr<Collectives> make_collectives(const RanksMachine& own,
                                              const std::function<RanksMachine()>& computer,
                                              std::string& gpu,
                                              std::unique_ptr<Communicator> communicator,
                                              const Connect& connect) {
  if (gpus_for_ranks(said_in_node(*communicator, said_of_gpus(own.names))) == GpusOf::process) {
    gpu = gpu_of(*communicator, gpu);
    return make_collectives(own.driver, own.machine, own.settings, gpu, std::move(communicator),
                            connect);
  }
  const RanksMachine all = or_abort(*communicator, computer);
  const PlaceId place = or_abort(*communicator, [&] {
    const int number = communicator->nodes().local_rank(communicator->rank());
    if (gpu.empty()) gpu = own.machine.place(usual_gpu(own, number)).name;
    const int seen = own.number_of(own.machine.find_place(gpu));
    return all.visible.at(static_cast<std::size_t>(seen));
  });
  const std::string& name = all.machine.place(place).name;
  const Settings settings =
      without_other_gpus(all.settings, all.machine, said_in_node(*communicator, name));
  return make_collectives(all.driver, all.machine, settings, name, std::move(communicator),
                          connect);
}

}  // namespace polypath::collective
