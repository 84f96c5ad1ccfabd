#include "mpi/member_work.h"

#include <fmt/format.h>

#include <utility>

#include "collective/rank/node_collectives.h"
#include "communicator/bootstrap/bootstrap.h"
#include "core/ignore_errors.h"
#include "core/user_folder.h"

namespace polypath::mpi {
namespace {

constexpr Seconds kTimeout{30};  // to join, once all ranks have said that they do
// Programs wait for each other as long as they like: ranks that have ended are found without.
constexpr Seconds kNoTimeout{1e8};

// Where kernels cannot run, it is found before the first call. The addresses are not used; they say
// that no rank is in place.
std::vector<CollectiveCall> samples() {
  constexpr Address kInput{1 << 12}, kOutput{1 << 20};
  return {{.collective = Collective::all_gather,
           .reduction = {.type = ElementType::uint8},
           .elements = 1,
           .input = kInput,
           .output = kOutput},
          {.collective = Collective::all_reduce,
           .reduction = {.type = ElementType::float32},
           .elements = 1,
           .input = kInput,
           .output = kOutput}};
}

// A rank without memory in the call has the GPU of its number, if it can.
PlaceId place_of(const JoiningRank& rank, const Call& call, const Surroundings& around) {
  for (const Side* side : {&call.receive, &call.send}) {
    if (side->memory == nullptr || side->memory == rank.library.in_place || side->parts == 0)
      continue;
    const auto memory = around.driver.find_memory({reinterpret_cast<std::uintptr_t>(side->memory)});
    if (memory && around.machine.place(memory->place).kind == PlaceKind::gpu) return memory->place;
  }
  return usual_gpu(around, rank.place.in_node.rank);
}

// What a rank of one node has before the ranks make collectives.
struct RankOnNode {
  const Surroundings* around;
  PlaceId gpu;
  StreamHandle stream;
  std::vector<Blob> gpus;  // the names of all ranks' GPUs
};

RankOnNode meet_on_node(const JoiningRank& rank, const Call& call, const Open& open,
                        Bootstrap& bootstrap) {
  const Blob seen = said_of_gpus(open(GpusOf::process).names);
  const Surroundings& around = open(gpus_for_ranks(bootstrap.all_gather(seen, kTimeout)));
  const PlaceId gpu = place_of(rank, call, around);
  const StreamHandle stream = rank.streams.of(around.driver, gpu, around.number_of(gpu));
  return {&around, gpu, stream, bootstrap.all_gather(around.machine.place(gpu).name, kTimeout)};
}

std::unique_ptr<MemberWork> make_in_node(const JoiningRank& rank, const Call& call,
                                         const Open& open) {
  const std::string folder =
      fmt::format("{}/mpi-{:016x}", usual_user_folder(), rank.invitation.number);
  auto bootstrap = bootstrap_by_file(folder, rank.place.seat.rank, rank.place.seat.size, kTimeout);
  const RankOnNode here =
      or_give_up(*bootstrap, [&] { return meet_on_node(rank, call, open, *bootstrap); });
  const Surroundings& around = *here.around;
  CommunicatorOptions options;
  options.timeout = kTimeout;
  auto made = std::make_unique<MemberWork>(
      around, here.gpu, here.stream,
      std::make_unique<NodeCollectives>(
          around.driver, around.machine,
          without_other_gpus(around.settings, around.machine, here.gpus), here.gpu,
          std::make_unique<Communicator>(std::move(bootstrap), options)));
  made->timeout = kNoTimeout;
  return made;
}

// Ranks of other nodes that have ended are not found without a timeout. Calls of several
// communicators have no common order on all nodes, so that each has a stream.
std::unique_ptr<MemberWork> make_among_nodes(const JoiningRank& rank, const Call& call,
                                             const Open& open) {
  auto communicator = rank.place.internode->meet(kTimeout);
  const Blob seen = said_of_gpus(open(GpusOf::process).names);
  const Surroundings& around = open(gpus_for_ranks(said_in_node(*communicator, seen)));
  const PlaceId gpu = place_of(rank, call, around);
  const std::vector<Blob> gpus = said_in_node(*communicator, around.machine.place(gpu).name);
  const Settings settings = without_other_gpus(around.settings, around.machine, gpus);
  auto ranks = rank.place.internode->collectives(around, settings, gpu, std::move(communicator));
  auto made =
      std::make_unique<MemberWork>(around, gpu, around.driver.create_stream(gpu), std::move(ranks));
  made->owns_stream = true;
  made->timeout = Seconds{settings.communicator_timeout};
  return made;
}

}  // namespace

MemberWork::MemberWork(const Surroundings& around, PlaceId place, StreamHandle in,
                       std::unique_ptr<Collectives> made)
    : driver(around.driver),
      gpu(place),
      ranks(std::move(made)),
      stream(in),
      before(around.default_stream(place)),
      scratch(around.driver, place) {}

MemberWork::~MemberWork() {
  ranks->leave();
  for (const EventHandle event : free_events) ignore_errors([&] { driver.destroy_event(event); });
  if (owns_stream) ignore_errors([&] { driver.destroy_stream(stream); });
}

EventHandle MemberWork::event() {
  const std::scoped_lock lock(mutex);
  if (free_events.empty()) return driver.create_event(gpu);
  const EventHandle taken = free_events.back();
  free_events.pop_back();
  return taken;
}

std::unique_ptr<MemberWork> make_work(const JoiningRank& rank, const Call& call, const Open& open) {
  auto made = rank.place.internode == nullptr ? make_in_node(rank, call, open)
                                              : make_among_nodes(rank, call, open);
  for (const CollectiveCall& sample : samples()) made->ranks->prepare(sample);
  made->ranks->set_timeout(made->timeout);
  return made;
}

}  // namespace polypath::mpi
