// Paths, and what they take of a machine's resources.

#include "model/path.h"

#include <gmock/gmock.h>

#include "model/close.h"
#include "model/paths.h"
#include "support/layers.h"

namespace polypath::test::path_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// The hand machine whose host memory, of 0.9 GB/s, both halves of a host path share: reading takes
// a byte of it per byte, writing two.
Machine with_host_memory() {
  Machine machine = hand_machine();
  const ResourceId memory{static_cast<std::int32_t>(machine.resources.size())};
  machine.resources.push_back({"host0.memory", "memory", 0.9_GBps, 0});
  const PlaceId host = machine.find_place("host0");
  for (Hop& hop : machine.hops) {
    if (hop.source == host) hop.uses.push_back({memory, 1});
    if (hop.destination == host) hop.uses.push_back({memory, 2});
  }
  return machine;
}

const Use* find(const std::vector<Use>& claims, const Machine& machine, const std::string& name) {
  for (const Use& claim : claims)
    if (machine.resource(claim.resource).name == name) return &claim;
  return nullptr;
}

HopId hop(const Machine& machine, const std::string& source, const std::string& destination) {
  return *machine.find_hop(machine.find_place(source), machine.find_place(destination));
}

TEST(Path, IsCalledAfterWhereItMeets) {
  const Machine machine = hand_machine();

  EXPECT_EQ(name_of(machine, path_over(machine, "direct")), "direct");
  EXPECT_EQ(name_of(machine, path_over(machine, "gpu2")), "gpu2");
  EXPECT_EQ(name_of(machine, path_over(machine, "host0")), "host0");
}

TEST(Path, MeetsAtItsStagingPlace) {
  const Machine machine = hand_machine();

  EXPECT_FALSE(path_over(machine, "direct").staged());
  EXPECT_FALSE(staging_place(machine, path_over(machine, "direct")).valid());
  EXPECT_TRUE(path_over(machine, "host0").staged());
  EXPECT_EQ(staging_place(machine, path_over(machine, "host0")), machine.find_place("host0"));
}

TEST(Path, HasTheParametersOfItsHopsAndItsStagingPlace) {
  const Machine machine = hand_machine();

  const HockneyPath direct = hockney_path(machine, path_over(machine, "direct"));
  const HockneyPath staged = hockney_path(machine, path_over(machine, "gpu2"));

  EXPECT_FALSE(direct.second);
  EXPECT_EQ(direct.first.bandwidth, 0.8_GBps);
  EXPECT_EQ(direct.staging, 0_us);
  ASSERT_TRUE(staged.second);
  EXPECT_EQ(staged.first.bandwidth, 0.8_GBps);
  EXPECT_EQ(staged.second->bandwidth, 0.3_GBps);
  EXPECT_EQ(staged.second->latency, 10_us);
  EXPECT_EQ(staged.staging, 7_us);
}

// --- resources ---

TEST(ResourceModel, AnEngineIsACapacityOfCopies) {
  const Machine machine = hand_machine();

  const ResourceModel resources(machine);

  ASSERT_THAT(resources.capacities(), SizeIs(6));
  EXPECT_EQ(resources.capacities()[0], 1_GBps);
  EXPECT_EQ(resources.capacities()[3].value, 1);
}

TEST(ResourceModel, APathClaimsWhatItsHopsUse) {
  const Machine machine = hand_machine();
  const ResourceModel resources(machine);
  const Path staged = path_over(machine, "gpu2");

  const auto direct = resources.claims(path_over(machine, "direct"));
  const auto both = resources.claims(staged);
  const auto second = resources.claims(staged.second);

  ASSERT_THAT(direct, SizeIs(1));
  EXPECT_EQ(find(direct, machine, "gpu1.ingress")->weight, 1);
  ASSERT_THAT(both, SizeIs(2));
  EXPECT_EQ(find(both, machine, "gpu2.ingress")->weight, 1);
  EXPECT_EQ(find(both, machine, "gpu1.ingress")->weight, 1);
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_EQ(find(second, machine, "gpu1.ingress")->weight, 1);
}

// At 0.5 GB/s a byte occupies the engine for 2 ns.
TEST(ResourceModel, AByteOccupiesAnEngineForItsTime) {
  const Machine machine = hand_machine();
  const ResourceModel resources(machine);
  const Path host = path_over(machine, "host0");

  const auto claims = resources.claims(host);

  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_TRUE(close(find(claims, machine, "gpu1.h2d_engine")->weight, 2e-9));
  EXPECT_THAT(resources.claims(host.first), IsEmpty());
}

// The slower hop decides: min(0.8, 0.3) through gpu2, 0.5 through the host.
TEST(ResourceModel, APathIsAsFastAsItsSlowerHop) {
  const Machine machine = hand_machine();
  const ResourceModel resources(machine);

  EXPECT_EQ(resources.own_rate(path_over(machine, "direct")), 0.8_GBps);
  EXPECT_EQ(resources.own_rate(path_over(machine, "gpu2")), 0.3_GBps);
  EXPECT_EQ(resources.own_rate(path_over(machine, "host0")), 0.5_GBps);
}

// Writing and reading a byte takes three of the memory's 0.9 GB/s: 0.3 GB/s, less than either hop's
// 0.5.
TEST(ResourceModel, AMemoryThatBothHopsUseSlowsThePath) {
  const Machine machine = with_host_memory();
  const ResourceModel resources(machine);
  const Path host = path_over(machine, "host0");

  const auto claims = resources.claims(host);

  EXPECT_TRUE(close(resources.own_rate(host), 0.3_GBps));
  ASSERT_THAT(claims, SizeIs(2));
  EXPECT_TRUE(close(find(claims, machine, "host0.memory")->weight, 3));
}

TEST(ResourceModel, CopiesOverOneSerialEngineExcludeEachOther) {
  Machine machine = hand_machine();
  machine.hops[hop(machine, "gpu0", "gpu1").index()].uses.push_back({ResourceId{4}, 1});
  const ResourceModel resources(machine);
  const HopId to_gpu0 = hop(machine, "host0", "gpu0"), to_gpu1 = hop(machine, "host0", "gpu1");

  EXPECT_TRUE(resources.exclude_each_other(to_gpu1, hop(machine, "gpu0", "gpu1")));
  EXPECT_TRUE(resources.exclude_each_other(to_gpu1, to_gpu1));
  EXPECT_FALSE(resources.exclude_each_other(to_gpu0, to_gpu1));
}

// Copies into one GPU share its ingress but need not wait for each other; nor do those of an engine
// that takes two at a time.
TEST(ResourceModel, SharingIsNoExclusion) {
  Machine machine = hand_machine();
  machine.resources[4].copies_at_once = 2;
  const ResourceModel resources(machine);
  const HopId to_gpu1 = hop(machine, "host0", "gpu1");

  EXPECT_FALSE(
      resources.exclude_each_other(hop(machine, "gpu0", "gpu1"), hop(machine, "gpu2", "gpu1")));
  EXPECT_FALSE(resources.exclude_each_other(to_gpu1, to_gpu1));
}

}  // namespace
}  // namespace polypath::test::path_test
