// The paths between two places of machines whose wiring is known.

#include <gtest/gtest.h>

#include "machine/load_machine.h"
#include "plan/plan.h"
#include "support/hand_machine.h"

namespace polypath::test::paths_test {
namespace {

using Names = std::vector<std::string>;

std::vector<Path> paths_between(const Machine& machine, const std::string& source,
                                const std::string& destination) {
  return find_paths(machine, machine.find_place(source), machine.find_place(destination));
}

Names names_between(const Machine& machine, const std::string& source,
                    const std::string& destination) {
  Names names;
  for (const Path& path : paths_between(machine, source, destination))
    names.push_back(name_of(machine, path));
  return names;
}

TEST(Paths, BetweenGpusAreTheDirectOneThenGpusThenHosts) {
  const Machine machine = load_machine("beluga");

  const Names names = names_between(machine, "gpu0", "gpu1");

  EXPECT_EQ(names, (Names{"direct", "gpu2", "gpu3", "host0"}));
}

TEST(Paths, FromAHostGoThroughTheOtherGpus) {
  const Machine machine = load_machine("beluga");

  const Names names = names_between(machine, "host0", "gpu1");

  EXPECT_EQ(names, (Names{"direct", "gpu0", "gpu2", "gpu3"}));
}

TEST(Paths, ToAHostGoThroughTheOtherGpus) {
  const Machine machine = load_machine("beluga");

  const Names names = names_between(machine, "gpu2", "host0");

  EXPECT_EQ(names, (Names{"direct", "gpu0", "gpu1", "gpu3"}));
}

std::vector<PlaceId> gpus_of_first_hops(const Machine& machine, const std::string& source,
                                        const std::string& destination) {
  std::vector<PlaceId> gpus;
  for (const Path& path : paths_between(machine, source, destination))
    if (path.staged()) gpus.push_back(machine.executing_gpu(path.first));
  return gpus;
}

TEST(Paths, ToAHostArePulledByTheirRelays) {
  const Machine machine = load_machine("beluga");

  const auto gpus = gpus_of_first_hops(machine, "gpu2", "host0");

  EXPECT_EQ(gpus, (std::vector<PlaceId>{{0}, {1}, {3}}));
}

TEST(Paths, ToAGpuArePushedByTheSource) {
  const Machine machine = load_machine("beluga");

  const auto gpus = gpus_of_first_hops(machine, "gpu2", "gpu0");

  EXPECT_EQ(gpus, std::vector<PlaceId>(3, PlaceId{2}));
}

TEST(Paths, WithoutPeerAccessOnlyTheHostCanStage) {
  const Machine machine = load_machine("nop2p4");

  const Names names = names_between(machine, "gpu0", "gpu1");

  EXPECT_EQ(names, (Names{"direct", "host0"}));
}

TEST(Paths, WithoutPeerAccessAHostHasNoRelays) {
  const Machine machine = load_machine("nop2p4");

  const Names names = names_between(machine, "host0", "gpu1");

  EXPECT_EQ(names, (Names{"direct"}));
}

TEST(Paths, WithoutADirectHopAreAllStaged) {
  Machine machine = test::hand_machine();
  const auto direct = machine.find_hop({0}, {1});
  machine.hops.erase(machine.hops.begin() + direct->value);

  const Names names = names_between(machine, "gpu0", "gpu1");

  EXPECT_EQ(names, (Names{"gpu2", "host0"}));
}

TEST(Paths, NeedBothHops) {
  Machine machine = test::hand_machine();
  const auto second = machine.find_hop({2}, {1});
  machine.hops.erase(machine.hops.begin() + second->value);

  const Names names = names_between(machine, "gpu0", "gpu1");

  EXPECT_EQ(names, (Names{"direct", "host0"}));
}

void expect_sound(const Machine& machine, PlaceId source, PlaceId destination) {
  for (const Path& path : find_paths(machine, source, destination)) {
    const Hop& first = machine.hop(path.first);
    const Hop& last = path.staged() ? machine.hop(path.second) : first;
    EXPECT_EQ(first.source, source);
    EXPECT_EQ(last.destination, destination);
    if (!path.staged()) continue;
    EXPECT_EQ(first.destination, last.source);
    EXPECT_NE(first.destination, source);
    EXPECT_NE(first.destination, destination);
    EXPECT_NE(first.kind, HopKind::driver_staged);
    EXPECT_NE(last.kind, HopKind::driver_staged);
  }
}

TEST(Paths, JoinTheTwoPlacesByRealHopsOnEveryMachine) {
  std::vector<std::string> machines = zoo_names();
  for (int seed = 0; seed < 100; ++seed) machines.push_back("synthetic:" + std::to_string(seed));

  for (const std::string& name : machines) {
    SCOPED_TRACE(name);
    const Machine machine = load_machine(name);
    for (const Hop& hop : machine.hops) expect_sound(machine, hop.source, hop.destination);
  }
}

}  // namespace
}  // namespace polypath::test::paths_test
