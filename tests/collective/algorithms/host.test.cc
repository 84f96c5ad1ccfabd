// The algorithm through the host's memory: what each rank writes there and reads from there, by
// hand, and where ranks that are processes have what they share.

#include <gmock/gmock.h>

#include "collective/division/projection.h"
#include "collective/support/ranks.h"
#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::host_test {
namespace {

/// Bytes that a rank writes to the host and reads from it.
struct Traffic {
  std::uint64_t written = 0, read = 0;
  bool operator==(const Traffic&) const = default;
};
void PrintTo(const Traffic& traffic, std::ostream* out) {
  *out << traffic.written << " written, " << traffic.read << " read";
}

std::vector<Traffic> traffic_of(const Machine& machine, const CollectiveRequest& request) {
  const Program program = build(find_algorithm("host"), machine, request, {.piece = 64_KiB});
  std::vector<Traffic> traffic(request.ranks.size());
  for (const Node& node : program.nodes()) {
    if (!node.hop.valid()) continue;
    const Hop& hop = machine.hop(node.hop);
    EXPECT_EQ(hop.kind, HopKind::host);
    for (std::size_t rank = 0; rank < traffic.size(); ++rank) {
      if (hop.source == request.ranks[rank]) traffic[rank].written += node.bytes.value;
      if (hop.destination == request.ranks[rank]) traffic[rank].read += node.bytes.value;
    }
  }
  return traffic;
}

// Four ranks, and 12·2^16 bytes of message: S. A part has S/4, of a reduce S/3.
constexpr std::uint64_t kMessage = 12U << 16;

std::vector<Traffic> traffic_of(Collective collective) {
  const Machine machine = load_machine("nop2p4");
  const CollectiveRequest like{
      .collective = collective, .ranks = first_gpus(machine, 4), .elements = 1, .root = 1};
  return traffic_of(machine, with_message(like, {kMessage}));
}

// Others' parts and the own result: S. The own part's values and the others' results: 3/4·S each.
TEST(HostTraffic, OfAnAllReduceIsWrittenOnceAndReadByAll) {
  const Traffic each{.written = kMessage, .read = kMessage / 2 * 3};

  EXPECT_THAT(traffic_of(Collective::all_reduce), testing::Each(each));
}

// The root gives all and gets all; each of the others writes the parts of two others and a result.
TEST(HostTraffic, OfAReduceIsTheMessageForEveryRank) {
  const Traffic each{.written = kMessage, .read = kMessage};

  EXPECT_THAT(traffic_of(Collective::reduce), testing::Each(each));
}

TEST(HostTraffic, OfAReduceScatterAndAnAllToAllIsWhatOthersGet) {
  const Traffic each{.written = kMessage / 4 * 3, .read = kMessage / 4 * 3};

  EXPECT_THAT(traffic_of(Collective::reduce_scatter), testing::Each(each));
  EXPECT_THAT(traffic_of(Collective::all_to_all), testing::Each(each));
}

TEST(HostTraffic, OfAnAllGatherIsWrittenOnceAndReadByAll) {
  const Traffic each{.written = kMessage / 4, .read = kMessage / 4 * 3};

  EXPECT_THAT(traffic_of(Collective::all_gather), testing::Each(each));
}

TEST(HostTraffic, OfABroadcastIsWrittenOnceAndReadByAll) {
  const Traffic root{.written = kMessage}, other{.read = kMessage};

  EXPECT_THAT(traffic_of(Collective::broadcast), testing::ElementsAre(other, root, other, other));
}

// A rank writes near itself.
TEST(HostPlaces, AreNearestToWhoWrites) {
  const Machine machine = load_machine("mist");
  const CollectiveRequest request{
      .collective = Collective::all_reduce, .ranks = first_gpus(machine, 4), .elements = 1 << 16};

  const Program program = build(find_algorithm("host"), machine, request, {.piece = 64_KiB});

  for (const Node& node : program.nodes()) {
    if (!node.hop.valid() || machine.place(machine.hop(node.hop).source).kind != PlaceKind::gpu)
      continue;
    const Hop& hop = machine.hop(node.hop);
    EXPECT_EQ(hop.destination, machine.nearest_host(hop.source));
  }
}

TEST(FlagPlaces, AreInTheHostsMemoryIfARankIsOutOfReach) {
  const Machine joined = load_machine("h200x4"), apart = load_machine("nop2p4"),
                two_sockets = load_machine("mist");

  EXPECT_EQ(flags_place(joined, first_gpus(joined, 4), 2), joined.find_place("gpu2"));
  EXPECT_EQ(flags_place(apart, first_gpus(apart, 4), 2), apart.find_place("host0"));
  EXPECT_EQ(flags_place(two_sockets, first_gpus(two_sockets, 4), 2),
            two_sockets.find_place("host1"));
  EXPECT_EQ(flags_place(two_sockets, first_gpus(two_sockets, 2), 1),
            two_sockets.find_place("gpu1"));
}

}  // namespace
}  // namespace polypath::test::host_test
