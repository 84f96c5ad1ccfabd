// Machines from facts, without a driver.

#include "probe/discover.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "plan/single/planner.h"
#include "support/layers.h"

namespace polypath::test::discover_test {
namespace {

using testing::HasSubstr;

// A computer with `count` GPUs of one kind that reach each other, PCIe 5.0 x16.
Computer computer_of(std::size_t count) {
  Computer computer;
  computer.driver = "580.0";
  computer.processor = "a processor";
  for (std::size_t g = 0; g < count; ++g) {
    GpuFacts gpu;
    gpu.model = "NVIDIA H200";
    gpu.pcie_generation = 5;
    gpu.pcie_width = 16;
    gpu.reaches.assign(count, true);
    gpu.links_to.assign(count, 0);
    computer.gpus.push_back(gpu);
  }
  return computer;
}

Computer behind_a_switch() {
  Computer computer = computer_of(4);
  for (GpuFacts& gpu : computer.gpus) {
    gpu.links_to_switch = 18;
    gpu.link_rate = 25_GBps;
  }
  return computer;
}

const Hop& hop_between(const Machine& machine, const char* from, const char* to) {
  return machine.hop(*machine.find_hop(machine.find_place(from), machine.find_place(to)));
}

std::vector<std::string> resources_of(const Machine& machine, const Hop& hop) {
  std::vector<std::string> names;
  for (const Use& use : hop.uses) names.push_back(machine.resource(use.resource).name);
  return names;
}

// 18 links · 25 GB/s · 0.87 = 391.5 GB/s.
TEST(Discover, BehindASwitchAllPathsShareThePorts) {
  const Machine machine = machine_of(behind_a_switch());

  const Hop& hop = hop_between(machine, "gpu0", "gpu1");

  EXPECT_EQ(machine.name, "nvidia-h200-x4");
  EXPECT_NEAR(hop.bandwidth.value, 391.5e9, 1);
  EXPECT_THAT(resources_of(machine, hop),
              testing::ElementsAre("gpu0.peer_engine", "gpu0.egress", "gpu1.ingress"));
}

// 2 links · 25 GB/s · 0.87 = 43.5 GB/s, and no other pair uses them.
TEST(Discover, DirectLinksBelongToTheirPair) {
  Computer computer = computer_of(3);
  for (std::size_t g = 0; g < 3; ++g) {
    computer.gpus[g].link_rate = 25_GBps;
    for (std::size_t peer = 0; peer < 3; ++peer)
      computer.gpus[g].links_to[peer] = g == peer ? 0 : 2;
  }

  const Machine machine = machine_of(computer);

  const Hop& hop = hop_between(machine, "gpu2", "gpu0");
  EXPECT_NEAR(hop.bandwidth.value, 43.5e9, 1);
  EXPECT_THAT(resources_of(machine, hop), testing::ElementsAre("gpu2-gpu0.link"));
}

// 16 lanes · 3.938 GB/s · 0.85 = 53.6 GB/s.
TEST(Discover, WithoutLinksPeersGoOverPcie) {
  const Machine machine = machine_of(computer_of(2));

  const Hop& hop = hop_between(machine, "gpu0", "gpu1");

  EXPECT_NEAR(hop.bandwidth.value, 53.5568e9, 1);
  EXPECT_THAT(resources_of(machine, hop), testing::Contains("gpu1.pcie_in"));
}

TEST(Discover, WithoutPeerAccessTheDriverStages) {
  Computer computer = behind_a_switch();
  for (GpuFacts& gpu : computer.gpus) gpu.reaches.assign(4, false);

  const Machine machine = machine_of(computer);

  const Hop& hop = hop_between(machine, "gpu0", "gpu1");
  EXPECT_EQ(hop.kind, HopKind::driver_staged);
  EXPECT_EQ(machine.resource(hop.uses.back().resource).name, "host0.total");
  EXPECT_EQ(hop.uses.back().weight, 2) << "in and out";
}

TEST(Discover, EveryNumaNodeIsAHost) {
  Computer computer = behind_a_switch();
  computer.gpus[2].numa_node = computer.gpus[3].numa_node = 1;

  const Machine machine = machine_of(computer);

  EXPECT_EQ(machine.places_of(PlaceKind::host).size(), 2U);
  EXPECT_EQ(machine.place(machine.nearest_host(machine.find_place("gpu3"))).name, "host1");
}

TEST(Discover, WhatIsNotKnownIsTakenToBeSlow) {
  Computer computer = computer_of(1);
  computer.gpus[0].pcie_generation = computer.gpus[0].pcie_width = 0;

  const Machine machine = machine_of(computer);

  // PCIe 3.0 x16: 16 · 0.985 · 0.85 = 13.4 GB/s.
  EXPECT_NEAR(hop_between(machine, "host0", "gpu0").bandwidth.value, 13.396e9, 1);
}

TEST(Discover, KernelsOfTwoGpusTakeLessThanThoseOfFour) {
  const DriverBehaviour two = machine_of(computer_of(2)).driver;
  const DriverBehaviour four = machine_of(computer_of(4)).driver;

  EXPECT_EQ(two.mail_latency, DriverBehaviour{}.mail_latency);
  EXPECT_EQ(two.parcel_efficiency, DriverBehaviour{}.parcel_efficiency);
  EXPECT_GT(four.mail_latency, two.mail_latency);
  EXPECT_LT(four.parcel_efficiency, two.parcel_efficiency);
}

TEST(Discover, TheMachineCanBePlannedOn) {
  const Machine machine = machine_of(behind_a_switch());
  Planner planner(machine, {});

  const auto plan = planner.plan(machine.find_place("host0"), machine.find_place("gpu0"), 256_MiB);

  EXPECT_GT(plan->native_predicted / plan->predicted, 1.5);
}

// As two GPUs write together on every computer measured (results/h200x4/nvbandwidth.json).
TEST(Discover, TheHostIsWrittenAtTheRateOfTwoGpus) {
  const Machine machine = machine_of(behind_a_switch());
  Planner planner(machine, {});

  const auto plan = planner.plan(machine.find_place("gpu0"), machine.find_place("host0"), 512_MiB);

  EXPECT_GT(plan->native_predicted / plan->predicted, 1.8);
}

TEST(Discover, NoGpusIsAnErrorInWords) {
  Computer computer;
  computer.problem = "there is no NVIDIA driver";

  try {
    machine_of(computer);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("there is no NVIDIA driver"));
  }
}

}  // namespace
}  // namespace polypath::test::discover_test
