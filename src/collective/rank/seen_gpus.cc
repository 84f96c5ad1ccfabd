#include "collective/rank/seen_gpus.h"

#include <fmt/format.h>

#include <algorithm>

namespace polypath {

Blob said_of_gpus(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, " "));
}

GpusOf gpus_for_ranks(const std::vector<Blob>& said) {
  const auto other = [&](const Blob& each) { return each != said.front(); };
  return std::ranges::any_of(said, other) ? GpusOf::computer : GpusOf::process;
}

std::vector<Blob> said_in_node(Communicator& communicator, const Blob& mine) {
  const std::vector<Blob> all = communicator.all_gather(mine);
  const Nodes& nodes = communicator.nodes();
  std::vector<Blob> here;
  for (const int rank : nodes.ranks_on(nodes.of(communicator.rank())))
    here.push_back(all[static_cast<std::size_t>(rank)]);
  return here;
}

Settings without_other_gpus(Settings settings, const Machine& machine,
                            const std::vector<std::string>& ranks) {
  for (const PlaceId gpu : machine.places_of(PlaceKind::gpu)) {
    const std::string& name = machine.place(gpu).name;
    if (std::ranges::find(ranks, name) == ranks.end()) settings.exclude.push_back(name);
  }
  return settings;
}

PlaceId usual_gpu(const Machine& machine, const std::vector<PlaceId>& visible, int local_rank) {
  if (visible.size() == 1) return visible.front();
  const auto number = static_cast<std::size_t>(local_rank);
  return number < visible.size() ? visible[number]
                                 : machine.find_place(fmt::format("gpu{}", local_rank));
}

}  // namespace polypath
