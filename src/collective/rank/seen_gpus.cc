#include "collective/rank/seen_gpus.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace polypath::collective {

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

int RanksMachine::number_of(PlaceId gpu) const {
  const auto found = std::ranges::find(visible, gpu);
  if (found != visible.end()) return static_cast<int>(found - visible.begin());
  fail(ErrorCode::invalid_argument,
       fmt::format("{} cannot be a rank's GPU", machine.place(gpu).name),
       fmt::format("it is none of the {} that this process sees", visible.size()),
       "Name one of these.");
}

PlaceId usual_gpu(const RanksMachine& seen, int local_rank) {
  if (seen.visible.size() == 1) return seen.visible.front();
  const auto number = static_cast<std::size_t>(local_rank);
  if (number < seen.visible.size()) return seen.visible[number];
  fail(ErrorCode::invalid_argument, fmt::format("rank {} of its node has no GPU", local_rank),
       fmt::format("this process sees {}", seen.visible.size()),
       "Name the GPU of each rank, or let each see its own alone.");
}

}  // namespace polypath::collective
