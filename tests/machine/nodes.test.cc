// Machines of several nodes: what they are made of, and what cannot be had.

#include "machine/nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/equal.h"
#include "machine/fingerprint.h"
#include "machine/load_machine.h"
#include "support/errors.h"

namespace polypath::test::nodes_test {
namespace {

using test::expect_invalid_argument;
using testing::ElementsAre;

std::vector<std::string> names_of(const Machine& machine, const std::vector<Use>& uses) {
  std::vector<std::string> names;
  for (const Use& use : uses) names.push_back(machine.resource(use.resource).name);
  return names;
}

const Hop& hop_between(const Machine& machine, const char* source, const char* destination) {
  return machine.hop(
      machine.find_hop(machine.find_place(source), machine.find_place(destination)).value());
}

TEST(MachineOfNodes, OfOneNodeIsTheMachineItself) {
  const Machine mist = load_machine("mist");

  expect_equal(machine_of_nodes(mist, 1), mist);
}

TEST(MachineOfNodes, HasEachPlaceResourceAndHopOnceInEachNode) {
  const Machine mist = load_machine("mist");

  const Machine three = machine_of_nodes(mist, 3);

  EXPECT_EQ(three.nodes(), 3);
  EXPECT_EQ(three.places.size(), 3 * mist.places.size());
  EXPECT_EQ(three.resources.size(), 3 * mist.resources.size());
  EXPECT_EQ(three.place(three.find_place("node2.gpu3")).node, 2);
  const Hop& here = hop_between(mist, "gpu0", "gpu2");
  const Hop& there = hop_between(three, "node1.gpu0", "node1.gpu2");
  EXPECT_EQ(there.bandwidth, here.bandwidth);
  EXPECT_EQ(there.uses.size(), here.uses.size());
  EXPECT_EQ(names_of(three, there.uses).front(), "node1." + names_of(mist, here.uses).front());
}

// Mist's adapters reach its GPUs: 24 ordered pairs of 3 nodes' GPUs are 6 · 16 hops.
TEST(MachineOfNodes, JoinsGpusThatTheNetworkReachesByOneHop) {
  const Machine mist = load_machine("mist");

  const Machine three = machine_of_nodes(mist, 3);

  const Hop& hop = hop_between(three, "node0.gpu1", "node2.gpu2");
  EXPECT_EQ(hop.kind, HopKind::network);
  EXPECT_EQ(hop.bandwidth, mist.network->bandwidth);
  EXPECT_EQ(hop.latency, mist.network->latency);
  EXPECT_THAT(names_of(three, hop.uses),
              ElementsAre("node0.gpu1.cpu_out", "node0.ib0.out", "node2.ib0.in", "node2.xbus.0-1",
                          "node2.gpu2.cpu_in"));
  EXPECT_EQ(hop_between(three, "node1.host0", "node0.host0").kind, HopKind::network);
  EXPECT_FALSE(three.find_hop(three.find_place("node1.host1"), three.find_place("node0.host0")));
}

// Cedar's do not: out of the GPU, over the network and into the other GPU, one after another. With
// 12.4, 12 and 12.4 GB/s that is 1/(2/12.4 + 1/12) = 4.088 GB/s, and 3.3 + 2 + 3.3 us of latencies
// with 6.7 us of staging at each host.
TEST(MachineOfNodes, JoinsOtherGpusByWayOfHosts) {
  const Machine two = machine_of_nodes(load_machine("cedar"), 2);

  const Hop& hop = hop_between(two, "node0.gpu3", "node1.gpu0");

  EXPECT_EQ(hop.kind, HopKind::network_staged);
  EXPECT_NEAR(hop.bandwidth.value, 4.088e9, 0.001e9);
  EXPECT_NEAR(hop.latency.value, 22e-6, 1e-12);
  const auto path = find_network_path(two, hop);
  ASSERT_TRUE(path);
  EXPECT_EQ(hop_name(two, path->out), "node0.gpu3 -> node0.host0");
  EXPECT_EQ(hop_name(two, path->over), "node0.host0 -> node1.host0");
  EXPECT_EQ(hop_name(two, path->in), "node1.host0 -> node1.gpu0");
}

TEST(MachineOfNodes, IsReadAgainAsItWasWritten) {
  for (const char* name : {"mist", "cedar"}) {
    const Machine two = machine_of_nodes(load_machine(name), 2);

    const Machine again = parse_machine(machine_to_json(two), "again");

    EXPECT_EQ(again.nodes(), 2);
    EXPECT_EQ(fingerprint(again), fingerprint(two));
    expect_equal(again.places, two.places);
    EXPECT_EQ(again.hops.size(), two.hops.size());
  }
}

TEST(MachineOfNodes, KeepsCopiesToTheHostInTheNode) {
  const Machine two = machine_of_nodes(load_machine("mist"), 2);

  EXPECT_EQ(two.nearest_host(two.find_place("node1.gpu3")), two.find_place("node1.host1"));
  const HopId between =
      two.find_hop(two.find_place("node1.host0"), two.find_place("node0.host0")).value();
  EXPECT_EQ(two.executing_gpu(between), two.find_place("node1.gpu0"));
}

TEST(MachineOfNodes, RefusesWhatCannotBeHad) {
  const Machine mist = load_machine("mist");
  const Machine two = machine_of_nodes(mist, 2);

  expect_invalid_argument([&] { (void)machine_of_nodes(mist, 0); }, "0 nodes of mist", "1 to 10");
  expect_invalid_argument([&] { (void)machine_of_nodes(mist, 11); }, "11 nodes", "64 places");
  expect_invalid_argument([] { (void)machine_of_nodes(load_machine("h200x8"), 2); },
                          "2 nodes of h200x8", "network");
  expect_invalid_argument([&] { (void)machine_of_nodes(two, 2); }, "mist-2-nodes", "2 nodes");
}

TEST(Validation, KeepsHopsOfTheNetworkBetweenNodes) {
  Machine two = machine_of_nodes(load_machine("mist"), 2);
  two.hops.front().kind = HopKind::network;

  try {
    validate(two);
    ADD_FAILURE() << "no complaint";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_machine);
    EXPECT_THAT(error.what(), testing::HasSubstr("node0.gpu0 -> node0.gpu1"));
  }
}

TEST(Validation, WantsNodesInOrder) {
  Machine two = machine_of_nodes(load_machine("mist"), 2);
  two.places.back().node = 3;

  EXPECT_THROW(validate(two), Error);
}

TEST(Validation, WantsEveryGpuToBeReached) {
  Machine cedar = load_machine("cedar");
  cedar.network->ends.clear();

  EXPECT_THROW(validate(cedar), Error);
}

}  // namespace
}  // namespace polypath::test::nodes_test
